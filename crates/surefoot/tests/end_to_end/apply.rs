//! What `report --apply` prints is what was provisioned: its commands are run here, and the servers read its files.

use crate::harness::{World, small_study};

/// The lines below a heading of this name.
fn section(text: &str, heading: &str) -> String {
    let lines = text.lines().skip_while(|line| *line != format!("# {heading}")).skip(1);
    lines.take_while(|line| !line.is_empty()).fold(String::new(), |all, line| all + line + "\n")
}

/// Runs a script in a mount namespace of its own.
fn shell(world: &World, script: &str) -> String {
    let said = world.shell(script).status(0);
    said.stdout + &said.stderr
}

/// mkfs, fstab and checks are used as they are printed, but for the placeholders: `mount` reads the fstab itself.
#[test]
fn what_is_printed_makes_and_mounts_the_filesystem_that_was_measured() {
    let world = World::new();
    let study = small_study(&["ext4", "xfs"], 1).replace("[storage]\n", "[storage]\nmount = [\"noatime\"]\n");
    world.write("small.toml", study);
    world.surefoot(&["run", "small.toml", "--set", "design.control=false"]).status(0);
    for filesystem in ["ext4", "xfs"] {
        let text = world.surefoot(&["report", "small.surefoot", "--apply", filesystem]).status(0).stdout;
        let (make, checks) = (section(&text, "Make the filesystem"), section(&text, "Check afterwards"));
        world.write("fstab", section(&text, "/etc/fstab"));
        let script = format!(
            "truncate -s 512M disk.img\nDEVICE=$(losetup --find --show disk.img)\ntrap 'losetup -d $DEVICE' EXIT\n\
             mkdir -p /mnt/applied\nplaced() {{ sed \"s|/dev/DEVICE|$DEVICE|g; s|/MOUNTPOINT|/mnt/applied|g\"; }}\n\
             placed > make <<'END'\n{make}END\nplaced < fstab > table\nplaced > checks <<'END'\n{checks}END\n\
             sh -e make\nmount --fstab table /mnt/applied\nsh -e checks\numount /mnt/applied\nrmdir /mnt/applied\n"
        );
        let found = shell(&world, &script);
        let mounted = found.lines().find(|line| line.contains(filesystem)).unwrap_or_default();
        assert!(mounted.contains("noatime") && mounted.contains("nosuid"), "{found}");
        let read_back = if filesystem == "xfs" { "meta-data=" } else { "Filesystem features:" };
        assert!(found.contains(read_back), "{found}");
        assert!(section(&text, "Not measured").contains("your device"), "{text}");
    }
    let unknown = world.surefoot(&["report", "small.surefoot", "--apply", "zfs"]).status(2);
    assert!(unknown.stderr.contains("scenarios are: "), "{unknown:?}");
    world.assert_nothing_left();
}

fn study(service: &str, workload: &str) -> String {
    format!(
        "name = \"s\"\nquestion = \"?\"\n[storage]\nfilesystem = \"ext4\"\nsize = \"320MiB\"\n{service}\n{workload}\n\
         [design]\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n"
    )
}

fn oltp(engine: &str) -> String {
    format!("[workload.oltp]\nengine = \"{engine}\"\ntable_size = 200\ntime = \"200ms\"\n")
}

/// The only scenario's text; its label is the workload's.
fn applied(world: &World, study: &str, label: &str) -> String {
    world.write("s.toml", study);
    world.surefoot(&["run", "s.toml"]).status(0);
    let text = world.surefoot(&["report", "s.surefoot", "--apply", label]).status(0).stdout;
    std::fs::remove_file(world.path().join("s.surefoot")).expect("it was written");
    text
}

#[test]
fn postgres_reads_the_file_that_is_printed() {
    let world = World::new();
    let service = "[service.postgres]\nsettings = { shared_buffers = \"24MB\", synchronous_commit = \"off\" }";
    let text = applied(&world, &study(service, &oltp("postgres")), "oltp");
    let file = text.lines().find_map(|line| line.strip_prefix("# /etc/postgresql/")).expect("its file");
    world.write("postgresql.conf", section(&text, &format!("/etc/postgresql/{file}")));
    // It says what it would have: a data directory with nothing but this file is enough to be asked.
    let ask = "p=$(ls -d /usr/lib/postgresql/*/bin/postgres | tail -n 1)\nchmod -R a+rX .\nmkdir d\n\
               cp postgresql.conf d/\necho 15 > d/PG_VERSION\nls \"$p\" > /dev/null\nchown -R nobody d\nchmod 700 d\n\
               for name in shared_buffers synchronous_commit; do setpriv --reuid=nobody --clear-groups $p -D d -C $name; done\n";
    let found = shell(&world, ask);
    assert!(found.contains("3072\noff"), "24MB are 3,072 pages of 8 KiB: {found}\n{text}");
    world.assert_nothing_left();
}

/// A replica with another number would skip what comes from its primary, and InnoDB does not open tables by another page size.
#[test]
fn a_mariadb_that_has_data_and_replicas_keeps_them() {
    let world = World::on_disk();
    let service = "[service.mariadb]\nbinary_log = true\n\
                   settings = { innodb_flush_log_at_trx_commit = 2, sort_buffer_size = \"3M\", innodb_page_size = \"8K\" }";
    let text = applied(&world, &study(service, &oltp("mariadb")), "oltp");
    assert!(
        text.starts_with("# WARNING: after a power cut, the last seconds of acknowledged commits may be lost ("),
        "{text}"
    );
    let file = "/etc/mysql/mariadb.conf.d/90-surefoot.cnf";
    world.write("90-surefoot.cnf", section(&text, file));
    let own = "[mysqld]\nserver_id = 2\nlog_bin = /var/log/mysql/mysql-bin\n!include 90-surefoot.cnf\n";
    world.write("my.cnf", own.replace("!include ", &format!("!include {}/", world.path().display())));
    let found = shell(&world, "$(command -v mariadbd) --defaults-file=my.cnf --verbose --help");
    let value = |name: &str| {
        found
            .lines()
            .filter(|line| line.starts_with(&format!("{name} ")))
            .find_map(|line| line.split_whitespace().last())
    };
    assert_eq!((value("innodb-flush-log-at-trx-commit"), value("sort-buffer-size")), (Some("2"), Some("3145728")));
    assert_eq!((value("server-id"), value("log-bin")), (Some("2"), Some("/var/log/mysql/mysql-bin")));
    assert_eq!(value("innodb-page-size"), Some("16384"));
    world.assert_nothing_left();
}

/// The packaged file with each line in place of the one of its name, as the text says.
fn edited(packaged: &str, text: &str) -> String {
    let blocks = [("outside of all blocks", ""), ("events { … }", "events {"), ("http { … }", "http {")];
    blocks.iter().fold(packaged.to_string(), |all, (block, opening)| {
        let lines = section(text, &format!("{block} of /etc/nginx/nginx.conf"));
        let names: Vec<&str> = lines.lines().filter_map(|line| line.split(' ').next()).collect();
        let is_replaced = |line: &&str| line.split_whitespace().next().is_some_and(|name| names.contains(&name));
        let kept = all.lines().filter(|line| !is_replaced(line)).fold(String::new(), |all, line| all + line + "\n");
        match *opening {
            "" => lines + &kept,
            opening => kept.replacen(opening, &format!("{opening}\n{lines}"), 1),
        }
    })
}

#[test]
fn web_servers_take_what_is_printed_into_their_packaged_files() {
    let world = World::new();
    let load = "[workload.http-load]\nfiles = 1\ntime = \"200ms\"\n";
    let service = "[service.nginx]\n\
                   settings = { worker_processes = 1, keepalive_requests = 77, worker_connections = 333, sendfile = \"off\", gzip = \"off\" }";
    let text = applied(&world, &study(service, load), "http-load");
    let here = world.path().display();
    let packaged = std::fs::read_to_string("/etc/nginx/nginx.conf").expect("nginx is installed");
    let packaged = packaged.replace("/run/nginx.pid", &format!("{here}/nginx.pid"));
    world.write("nginx.conf", edited(&packaged, &text));
    let found = shell(&world, "nginx -T -e stderr -c \"$PWD/nginx.conf\"");
    let all = ["test is successful", "worker_processes 1;", "keepalive_requests 77;", "worker_connections 333;"];
    assert!(all.iter().all(|wanted| found.contains(wanted)), "{found}\n{text}");

    let options = "( \\\"url-path-2f-decode\\\" => \\\"enable\\\" )";
    let service = format!(
        "[service.lighttpd]\nphp = \"none\"\n\
         settings = {{ \"server.max-keep-alive-idle\" = 7, \"server.http-parseopts\" = \"{options}\" }}"
    );
    let load = load.replace("files", "server = \"lighttpd\"\nfiles");
    let text = applied(&world, &study(&service, &load), "http-load");
    world.write("90-surefoot.conf", section(&text, "/etc/lighttpd/conf-enabled/90-surefoot.conf"));
    let packaged = std::fs::read_to_string("/etc/lighttpd/lighttpd.conf").expect("lighttpd is installed");
    world.write("lighttpd.conf", format!("{packaged}include \"{here}/90-surefoot.conf\"\n"));
    let found = shell(&world, "lighttpd -tt -f lighttpd.conf\nlighttpd -p -f lighttpd.conf");
    let is_idle = |line: &str| line.contains("server.max-keep-alive-idle") && line.ends_with("= 7");
    assert!(found.lines().any(is_idle), "{found}\n{text}");
    world.assert_nothing_left();
}

/// redis.conf: with `appendonly yes` in the file of a server that has none such a file, it starts empty.
#[test]
fn a_redis_that_has_data_keeps_them() {
    let world = World::new();
    let load = "[workload.key-value]\nengine = \"redis\"\nrecords = 100\nthreads = 1\ntime = \"200ms\"\n";
    let service = |settings: &str| format!("[service.redis]\nsettings = {{ {settings}, save = \"\" }}");
    let on = applied(&world, &study(&service("appendonly = true"), load), "key-value");
    let off = applied(&world, &study(&service("appendonly = \"no\""), load), "key-value");
    assert!(off.starts_with("# WARNING: after a power cut, everything is lost (appendonly = no, save = \"\""), "{off}");
    let here = world.path().display().to_string();
    for (name, text) in [("on", &on), ("off", &off)] {
        for (step, heading) in
            [("first", "First, for redis"), ("file", "/etc/redis/surefoot.conf"), ("then", "Then, for redis")]
        {
            let lines = section(text, heading).replace("redis-cli", &format!("redis-cli -s {here}/redis.sock"));
            world.write(&format!("{name}-{step}"), lines.replace("/etc/redis/", &format!("{here}/")));
        }
    }
    let script = format!(
        "sed -e 's|^port .*|port 0|; s|^dir .*|dir {here}/d|; s|^logfile .*|logfile \"\"|; s|^pidfile .*|pidfile {here}/pid|' \
         -e 's|^daemonize .*|daemonize no|' /etc/redis/redis.conf > redis.conf\n\
         echo 'unixsocket {here}/redis.sock' >> redis.conf\nmkdir d\ntrap 'kill $! 2> /dev/null || true' EXIT\n\
         cli() {{ redis-cli -s {here}/redis.sock \"$@\"; }}\n\
         up() {{ redis-server {here}/redis.conf > log 2>&1 & until cli PING 2>&1 | grep -q PONG; do sleep 0.05; done; }}\n\
         down() {{ kill $!; wait $!; }}\n\
         up; cli SET early 1\nsh on-first\n\
         while cli INFO persistence | grep -qE 'aof_rewrite_(in_progress|scheduled):1'; do sleep 0.05; done\n\
         cp on-file surefoot.conf; sh on-then; down\n\
         up; echo on $(cli MGET early) $(cli CONFIG GET appendonly); cli SET late 2\nsh off-first\n\
         cp off-file surefoot.conf; sh off-then; wait $!\n\
         up; echo off $(cli MGET early late) $(cli CONFIG GET appendonly) $(grep -c surefoot.conf redis.conf); down\n"
    );
    let found = shell(&world, &script);
    for wanted in ["on 1 appendonly yes", "off 1 2 appendonly no 1"] {
        assert!(found.lines().any(|line| line == wanted), "no {wanted:?} in {found}\n{on}\n{off}");
    }
    world.assert_nothing_left();
}
