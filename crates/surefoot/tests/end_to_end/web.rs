//! Web servers on real filesystems: sites are made, served and asked for, and a server's refusal is in its own words.

use crate::harness::World;
use serde_json::Value;

fn study(factors: &str, workloads: &str) -> String {
    // An image is written whole, and XFS and Btrfs need a larger one.
    let size = if factors.contains("xfs") || factors.contains("btrfs") { "320MiB" } else { "128MiB" };
    format!(
        "name = \"s\"\nquestion = \"?\"\n[factors]\n{factors}\n[storage]\nfilesystem = \"ext4\"\nsize = \"{size}\"\n\
         [service.nginx]\nsettings = {{ worker_processes = 1 }}\n{workloads}\n\
         [design]\nprobe = \"0s\"\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n"
    )
}

#[test]
fn nginx_serves_files_and_a_log_from_each_filesystem() {
    let world = World::new();
    let mut log = String::new();
    for number in 0..120 {
        // `/x` is a page and a folder, as logs have it.
        let (target, status, bytes) = match number % 6 {
            0 => ("/x".to_string(), 200, 3000),
            1 => ("/x/y%20z.png?v=1".to_string(), 200, 70_000),
            2 => ("/x/".to_string(), 304, 0),
            3 => ("/".to_string(), 200, 10),
            4 => ("/nothing/here".to_string(), 404, 99),
            _ => (format!("/page/{number}"), 200, number),
        };
        log.push_str(&format!(
            "a.example:80 ::1 - - [21/Nov/2026:10:00:00 +0000] \"GET {target} HTTP/1.1\" {status} {bytes} \"-\" \"m\"\n"
        ));
    }
    world.write("site.log", log);
    let workloads = "[workload.http-load]\nfiles = 30\nfile_size = \"10KiB\"\nconnections = 4\ntime = \"300ms\"\nbody_contains = \"a page\"\n\
                     [workload.http-replay]\nlog = \"site.log\"\nrequests = 100\nconnections = 5\n\
                     body_contains = \"Here it is\"\n";
    let json = world.run(study("\"storage.filesystem\" = [\"ext4\", \"btrfs\"]", workloads), 0);
    let runs = json["ledger"]["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 4);
    for run in runs {
        let metrics = &run["metrics"];
        assert_eq!(metrics["errors"], 0.0, "{run}");
        assert!(metrics["requests_per_second"].as_f64() > Some(0.0), "{run}");
    }
    let replayed = runs.iter().filter(|run| run["metrics"]["requests"] == 100.0).count();
    assert_eq!(replayed, 2);
    let facts = &json["ledger"]["trials"][0]["facts"];
    assert!(facts["nginx.version"].is_string() && facts["nginx.worker_processes"] == "1", "{facts}");
    world.assert_nothing_left();
}

#[test]
fn every_server_has_the_pages_of_a_log() {
    let world = World::new();
    let line = |number: usize| {
        // A page that another lies below is a folder: Apache and lighttpd lead on to its index.
        let target = ["/x", "/x/y", "/a%2Fb", "/x/login.php"][number % 4];
        format!("::1 - - [21/Nov/2026:10:00:00 +0000] \"GET {target} HTTP/1.1\" 200 300\n")
    };
    world.write("site.log", (0..60).map(line).collect::<String>());
    let load = "[workload.http-replay]\nlog = \"site.log\"\nconnections = 3\nbody_contains = \"Here it is\"\n";
    let servers = "\"workload.http-replay.server\" = [\"nginx\", \"caddy\", \"apache\", \"lighttpd\"]";
    // Its default is to run PHP, and what a log makes are files.
    world.write("s.toml", study(servers, load));
    world.surefoot(&["plan", "s.toml"]).status(2).says("`service.lighttpd.php` = \"cgi\" would run its /x/login.php");
    let json = world.run(study(servers, &format!("{load}[service.lighttpd]\nphp = \"none\"\n")), 0);
    let runs = json["ledger"]["runs"].as_array().expect("runs");
    let count = |run: &Value, metric: &str| run["metrics"][metric].as_f64().expect("a number") as u64;
    assert!(runs.iter().all(|run| count(run, "errors") == 0), "{runs:?}");
    let mut redirects: Vec<u64> = runs.iter().map(|run| count(run, "status_3xx")).collect();
    redirects.sort_unstable();
    assert_eq!(redirects, [0, 0, 15, 15]);
    // A redirect is less work than a page, and the reader is told.
    let trials = json["ledger"]["trials"].as_array().expect("trials");
    for run in runs {
        let trial = trials.iter().find(|trial| trial["id"] == run["trial"]).expect("its trial");
        let says = trial["notes"].to_string().contains("redirects count as right answers");
        assert_eq!(says, count(run, "status_3xx") > 0, "{trial}");
    }
    world.assert_nothing_left();
}

#[test]
fn parts_of_a_log_are_turns_of_which_each_goes_on_where_the_last_ended() {
    let world = World::new();
    let line = |number| {
        let (target, status) = if number % 6 == 4 { ("/none", 404) } else { ("/page", 200) };
        format!("::1 - - [21/Nov/2026:10:00:00 +0000] \"GET {target} HTTP/1.1\" {status} 9\n")
    };
    world.write("site.log", (0..120).map(line).collect::<String>());
    let load = "[workload.http-replay]\nlog = \"site.log\"\nrequests_per_run = 50\nconnections = 3\n";
    let text = study("\"storage.filesystem\" = [\"ext4\", \"xfs\"]", load) + "runs = 3\n";
    world.write("s.toml", text);
    world.surefoot(&["plan", "s.toml"]).status(0).says("turns of a run each, up to 2 scenarios at once");
    world.surefoot(&["run", "s.toml"]).status(0);
    let json = world.report("s.surefoot");
    let runs = json["ledger"]["runs"].as_array().expect("runs");
    let sum = |metric: &str| runs.iter().map(|run| run["metrics"][metric].as_f64().expect("a number")).sum::<f64>();
    assert_eq!((runs.len(), sum("requests")), (6, 300.0));
    // 150 requests in a row have 25 that the site lacks, wherever they begin; three times the same 50 have 24 or 27.
    assert_eq!(sum("status_4xx"), 50.0);
    let begins = |trial: &Value| {
        let of_trial = runs.iter().filter(|run| run["trial"] == *trial);
        of_trial.map(|run| run["metrics"]["part_begin"].as_f64().expect("a number") as u64 % 120).collect::<Vec<_>>()
    };
    let next = runs.iter().find(|run| run["trial"] != runs[0]["trial"]).expect("two trials");
    let (one, other) = (begins(&runs[0]["trial"]), begins(&next["trial"]));
    assert_eq!(one, [one[0], (one[0] + 50) % 120, (one[0] + 100) % 120]);
    assert_eq!(one, other, "all scenarios of a round send the same");
    world.write("s.toml", study("", &(load.to_string() + "speed = 2\n")));
    world.surefoot(&["plan", "s.toml"]).status(2).says("one of them must be 0");
    world.assert_nothing_left();
}

#[test]
fn connections_at_a_rate_are_httperfs() {
    let world = World::new();
    let load = "[workload.http-load]\nrate = 100\ncalls = 5\nthink_time = \"10ms\"\nrequests = 200\n";
    let factors = "\"workload.http-load.file_size\" = [\"1KiB\", \"2KiB\"]";
    let json = world.run(study(factors, load), 0);
    for (run, bytes) in json["ledger"]["runs"].as_array().expect("runs").iter().zip([1024.0, 2048.0]) {
        let metrics = &run["metrics"];
        let counts =
            ["requests", "connections_made", "status_2xx", "status_5xx", "errors"].map(|name| metrics[name].as_f64());
        assert_eq!(counts, [200.0, 40.0, 200.0, 0.0, 0.0].map(Some), "{run}");
        assert!(metrics["body_bytes_mean"] == bytes || metrics["body_bytes_mean"] == 3072.0 - bytes, "{run}");
    }
    world.write("s.toml", study(factors, &load.replace("calls = 5", "calls = 1")));
    world.surefoot(&["plan", "s.toml"]).status(2).says("a think time lies between requests of one connection");
}

#[test]
fn what_nginx_refuses_is_in_its_words() {
    let world = World::new();
    let load = "[workload.http-load]\ntime = \"200ms\"\n";
    let json = world.run(study("\"service.nginx.settings.sendfile\" = [\"perhaps\"]", load), 3);
    let log = json["ledger"]["trials"][0]["failure"]["log"].to_string();
    assert!(log.contains("invalid value") && log.contains("perhaps"), "{log}");
    world.assert_nothing_left();
}

/// Its manual: ServerLimit is 16 where nobody sets it, and a server has ThreadsPerChild threads, of which Debian has 25.
#[test]
fn a_directive_that_apache_changes_fails_the_trial() {
    let world = World::new();
    let load = "[workload.http-load]\nserver = \"apache\"\ntime = \"200ms\"\n";
    let text = study("\"service.apache.settings.MaxRequestWorkers\" = [1000]", load)
        .replace("[service.nginx]\nsettings = { worker_processes = 1 }\n", "");
    let json = world.run(text, 3);
    let failure = json["ledger"]["trials"][0]["failure"].to_string();
    assert!(failure.contains("apache changed MaxRequestWorkers") && failure.contains("decreasing to 400"), "{failure}");
    world.assert_nothing_left();
}

#[test]
fn every_stack_answers_its_site() {
    let world = World::new();
    let stacks = r#"
        [factors.stack]
        module = { workload.http-load.server = "apache", service.apache.php = "module", service.apache.mpm = "prefork", service.apache.opcache = false }
        fpm = { workload.http-load.server = "apache", service.apache.php = "fpm", service.php-fpm.php_settings = { memory_limit = "64M" } }
        nginx = { workload.http-load.server = "nginx", service.nginx.php = "fpm", service.nginx.virtual_hosts = false }
        cgi = { workload.http-load.server = "lighttpd", workload.http-load.sqlite_transaction = true }
        fastcgi = { workload.http-load.server = "lighttpd", service.lighttpd.php = "fastcgi", service.lighttpd.apcu = true, workload.http-load.sqlite_journal = "wal" }
        static = { workload.http-load.server = "apache", workload.http-load.site = "static", service.apache.tls = true }
        secure = { workload.http-load.server = "nginx", workload.http-load.site = "static", workload.http-load.keep_alive = true, service.nginx.tls = true }
        caddy = { workload.http-load.server = "caddy", service.caddy.php = "fpm", service.caddy.settings = { header = "Cache-Control max-age=60" } }
        caddy-secure = { workload.http-load.server = "caddy", workload.http-load.site = "static", workload.http-load.keep_alive = true, service.caddy.tls = true }
        gunicorn = { workload.http-load.server = "django", workload.http-load.site = "plain-files", service.django.settings = { workers = 2 } }
        runserver = { workload.http-load.server = "django", workload.http-load.site = "plain-files", service.django.server = "runserver" }
        [storage]
        size = "128MiB"
        [workload.http-load]
        site = "sqlite-page"
        connections = 3
        keep_alive = false
        time = "300ms"
        [design]
        probe = "0s"
        rounds_min = 1
        rounds_max = 1
        warm_up_runs = 0
        control = false
    "#;
    let json = world.run(format!("name = \"s\"\nquestion = \"?\"\n{stacks}"), 0);
    let runs = json["ledger"]["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 11);
    for run in runs {
        // Every answer was what the page must be, and what the pages left behind was looked at.
        assert_eq!(run["metrics"]["errors"], 0.0, "{run}");
        assert!(run["metrics"]["requests"].as_f64() > Some(0.0), "{run}");
    }
    let trials = json["ledger"]["trials"].as_array().expect("trials").iter();
    let facts: std::collections::BTreeMap<&str, &serde_json::Value> =
        trials.map(|trial| (trial["scenario"].as_str().expect("a label"), &trial["facts"])).collect();
    assert_eq!(facts["module"]["apache.php.opcache.enable"], "Off");
    assert_eq!(facts["fpm"]["php-fpm.php.opcache.enable"], "On");
    assert_eq!(facts["fpm"]["php-fpm.php.memory_limit"], "64M");
    assert_eq!(facts["fastcgi"]["lighttpd.php.apc.enabled"], "On");
    world.assert_nothing_left();
}

/// A factor sets what Apache's module and PHP-FPM have alike for each of them.
#[test]
fn both_forms_of_php_are_crossed_with_a_setting_of_both() {
    let world = World::new();
    let plan = |of_fpm: [&str; 2]| {
        let [off, on] = of_fpm;
        let factors = format!(
            "php = {{ module = {{ service.apache.php = \"module\" }}, fpm = {{ service.apache.php = \"fpm\" }} }}\n\
             cache = {{ off = {{ service.apache.opcache = false{off} }}, on = {{ service.apache.opcache = true{on} }} }}"
        );
        let load = "[workload.http-load]\nserver = \"apache\"\nsite = \"sqlite-page\"\n";
        let nginx = "[service.nginx]\nsettings = { worker_processes = 1 }";
        world.write("s.toml", study(&factors, load).replace(nginx, "[service.apache]\nmpm = \"prefork\""));
        world.surefoot(&["plan", "s.toml"])
    };
    plan([", service.php-fpm.opcache = false", ", service.php-fpm.opcache = true"]).status(0);
    plan(["", ""]).status(2).says("PHP-FPM runs the pages, so set `service.php-fpm.opcache`");
}

#[test]
fn a_setting_that_php_does_not_know_fails_the_trial() {
    let world = World::new();
    let load = "[service.php-fpm]\nphp_settings = { \"opcache.typo\" = 1 }\n\
                [workload.http-load]\nsite = \"sqlite-page\"\ntime = \"200ms\"\n";
    let json = world.run(study("\"service.nginx.php\" = [\"fpm\"]", load), 3);
    let failure = json["ledger"]["trials"][0]["failure"].to_string();
    assert!(failure.contains("PHP has no setting opcache.typo"), "{failure}");
}

#[test]
fn a_server_without_php_does_not_pass_for_a_fast_one() {
    let world = World::new();
    let load = "[workload.http-load]\nserver = \"apache\"\nsite = \"sqlite-page\"\ntime = \"200ms\"\n";
    let text = study("\"service.apache.php\" = [\"none\"]", load)
        .replace("[service.nginx]\nsettings = { worker_processes = 1 }\n", "");
    let json = world.run(text, 3);
    let failure = json["ledger"]["trials"][0]["failure"].to_string();
    assert!(failure.contains("wrong body") && failure.contains("41 statements"), "{failure}");
}

#[test]
fn a_log_that_cannot_be_replayed_is_told_before_the_first_trial() {
    let world = World::new();
    let factors = "\"storage.filesystem\" = [\"ext4\", \"xfs\"]";
    world.write("s.toml", study(factors, "[workload.http-replay]\n"));
    world.surefoot(&["plan", "s.toml"]).status(2).says("`log` names the access log to replay");
    world.write("s.toml", study(factors, "[workload.http-replay]\nlog = \"missing.log\"\n"));
    world.surefoot(&["plan", "s.toml"]).status(2).says("cannot read missing.log");
    world.write("bad.log", "what\nis\nthis\n");
    world.write("s.toml", study(factors, "[workload.http-replay]\nlog = \"bad.log\"\n"));
    world.surefoot(&["plan", "s.toml"]).status(2).says("bad.log has no request that can be replayed");
    world.write("site.log", "::1 - - [21/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 9\n");
    let hosts = "\"service.nginx.virtual_hosts\" = [false, true]";
    world.write("s.toml", study(hosts, "[workload.http-replay]\nlog = \"site.log\"\n"));
    world.surefoot(&["plan", "s.toml"]).status(2).says("`service.nginx.virtual_hosts` looks for a folder of each");
}

/// The way out is one that the study's own load takes, where there is one.
#[test]
fn a_server_that_no_load_asks_is_told_how_one_does() {
    let world = World::new();
    world.write("site.log", "::1 - - [21/Nov/2026:10:00:00 +0000] \"GET / HTTP/1.1\" 200 9\n");
    let of_nginx = study("", "[workload.http-replay]\nlog = \"site.log\"\n");
    let refuse = |service: &str, says: &str| {
        let text =
            of_nginx.replace("[service.nginx]\nsettings = { worker_processes = 1 }", &format!("[service.{service}]"));
        world.write("s.toml", text);
        world.surefoot(&["plan", "s.toml"]).status(2).says(&format!("uses the service `{service}`")).says(says);
    };
    for server in ["apache", "lighttpd", "caddy", "django"] {
        refuse(server, &format!("for example [workload.http-replay] server = \"{server}\""));
    }
    for engine in ["redis", "etcd", "gtm"] {
        refuse(engine, &format!("engine = \"{engine}\""));
    }
    refuse("php-fpm", "`surefoot list php-fpm` has an example with it");
    world.surefoot(&["list", "php-fpm"]).status(0).says("php = \"fpm\"");
}

#[test]
fn the_highest_rate_is_found() {
    let world = World::new();
    let search = "rate_min = 100\nprobe_time = \"200ms\"\nconnections = 20\n";
    // However slowly the machine answers.
    let easy = format!("[workload.find-rate]\n{search}rate_max = 400\nlatency_max = \"10s\"\nprecision = \"100%\"\n");
    let json = world.run(study("\"workload.find-rate.file_size\" = [\"1KiB\", \"2KiB\"]", &easy), 0);
    for run in json["ledger"]["runs"].as_array().expect("runs") {
        assert_eq!(
            (&run["metrics"]["highest_rate_per_second"], &run["metrics"]["rates_tried"]),
            (&400.0.into(), &3.0.into())
        );
    }
    let notes = json["ledger"]["trials"][0]["notes"].to_string();
    assert!(notes.contains("All rates held, up to 400 requests a second"), "{notes}");
    // Nothing is answered within a microsecond.
    let hopeless = format!("[workload.find-rate]\n{search}latency_max = \"1us\"\n");
    world.write(
        "h.toml",
        study("\"workload.find-rate.file_size\" = [\"1KiB\", \"2KiB\"]", &hopeless).replace("\"s\"", "\"h\""),
    );
    world.surefoot(&["run", "h.toml"]).status(3);
    let json = world.report("h.surefoot");
    let failure = json["ledger"]["trials"][0]["failure"].to_string();
    assert!(failure.contains("no rate holds, from this one on: at 100 requests a second"), "{failure}");
}
