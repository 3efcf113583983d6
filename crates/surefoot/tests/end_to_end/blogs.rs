//! Blogs and wikis on every server. A file of its own because it is the longest test: the first letter lets it start early, beside all others.

use crate::harness::World;

#[test]
fn blogs_and_wikis_answer_real_pages_on_every_server() {
    let world = World::new();
    let servers = r#"
        [factors.server]
        apache = { workload.http-replay.server = "apache", service.apache.php = "module", service.apache.mpm = "prefork" }
        nginx = { workload.http-replay.server = "nginx", service.nginx.php = "fpm", storage.filesystem = "xfs" }
        lighttpd = { workload.http-replay.server = "lighttpd", service.lighttpd.php = "fastcgi" }
        caddy = { workload.http-replay.server = "caddy", service.caddy.php = "fpm" }
        [storage]
        size = "1GiB"
        [service.apache]
        virtual_hosts = true
        [service.nginx]
        virtual_hosts = true
        [service.caddy]
        virtual_hosts = true
        [service.lighttpd]
        virtual_hosts = true
        [service.postgres]
        settings = { shared_buffers = "8MB" }
        [workload.http-replay]
        site = "cms"
        cms_pages = 10
        requests = 200
        connections = 4
        [design]
        probe = "0s"
        rounds_min = 1
        rounds_max = 1
        warm_up_runs = 0
        control = false
    "#;
    world.write("s.toml", format!("name = \"s\"\nquestion = \"?\"\n{servers}"));
    world.surefoot(&["run", "s.toml", "--work", "work"]).status(0);
    let json = world.report("s.surefoot");
    let runs = json["ledger"]["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 4);
    for run in runs {
        // Of each page the sentence with its title was looked for, of each file its size.
        assert_eq!((&run["metrics"]["errors"], &run["metrics"]["status_2xx"]), (&0.0.into(), &200.0.into()), "{run}");
    }
    let trials = json["ledger"]["trials"].to_string();
    assert_eq!(trials.matches("\"build template\"").count(), 1, "made once, whoever serves it: {trials}");
    // All kinds of hosts were visited, and the log of the visits can be read.
    let cache = world.path().join("work/cache").read_dir().expect("a cache").flatten();
    let log = cache.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "log"));
    let log = std::fs::read_to_string(log.expect("a log")).expect("text");
    for host in ["blog", "wiki", "notes", "files"] {
        let pages = log.lines().filter(|line| line.starts_with(host) && !line.contains("/resources/")).count();
        assert!(pages > 5, "{host}: {pages}");
    }
    world.assert_nothing_left();
}
