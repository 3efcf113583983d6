//! What `report --apply` prints is what was provisioned: its commands are run here, and the servers read its files.

use crate::harness::{World, said, small_study};
use std::process::Command;

/// The lines below a heading of this name.
fn section(text: &str, heading: &str) -> String {
    let lines = text.lines().skip_while(|line| *line != format!("# {heading}")).skip(1);
    lines.take_while(|line| !line.is_empty()).fold(String::new(), |all, line| all + line + "\n")
}

/// Runs a script in a mount namespace of its own.
fn shell(world: &World, script: &str) -> String {
    let output = Command::new("unshare").args(["-m", "sh", "-ec", script]).current_dir(world.path()).output();
    let said = said(&output.expect("unshare is part of util-linux")).status(0);
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
        "name = \"s\"\nquestion = \"?\"\n[storage]\nfilesystem = \"ext4\"\nsize = \"512MiB\"\n{service}\n{workload}\n\
         [design]\nrounds_min = 1\nrounds_max = 1\nwarm_up_runs = 0\ncontrol = false\n"
    )
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
fn servers_read_the_files_that_are_printed() {
    let world = World::new();
    let oltp = |engine: &str| format!("[workload.oltp]\nengine = \"{engine}\"\ntable_size = 200\ntime = \"200ms\"\n");

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

    let service = "[service.mariadb]\nsettings = { innodb_flush_log_at_trx_commit = 2, sort_buffer_size = \"3M\" }";
    let text = applied(&world, &study(service, &oltp("mariadb")), "oltp");
    world.write("my.cnf", section(&text, "/etc/mysql/mariadb.conf.d/90-surefoot.cnf"));
    let found = shell(&world, "$(command -v mariadbd) --defaults-file=my.cnf --verbose --help");
    let value = |name: &str| {
        found
            .lines()
            .filter(|line| line.starts_with(&format!("{name} ")))
            .find_map(|line| line.split_whitespace().last())
    };
    assert_eq!((value("innodb-flush-log-at-trx-commit"), value("sort-buffer-size")), (Some("2"), Some("3145728")));

    let service =
        "[service.nginx]\nsettings = { worker_processes = 1, keepalive_requests = 77, worker_connections = 333 }";
    let text = applied(&world, &study(service, "[workload.http-load]\nfiles = 1\ntime = \"200ms\"\n"), "http-load");
    let of = |heading: &str| section(&text, heading);
    let configuration = format!(
        "{}events {{ {} }}\nhttp {{ {} }}\n",
        of("/etc/nginx/modules-enabled/90-surefoot.conf"),
        of("events { … } of /etc/nginx/nginx.conf"),
        of("/etc/nginx/conf.d/surefoot.conf")
    );
    world.write("nginx.conf", configuration);
    let found = shell(&world, "nginx -T -c \"$PWD/nginx.conf\"");
    let all = ["test is successful", "worker_processes 1;", "keepalive_requests 77;", "worker_connections 333;"];
    assert!(all.iter().all(|wanted| found.contains(wanted)), "{found}\n{text}");
    world.assert_nothing_left();
}
