//! Templates of sites and databases, and the commands that make them by hand.

use super::*;
use sandbox::work::Holder;
use services::service::Program;

/// A server that is not there, and makes the document root of one.
struct Absent(Program);

impl Service for Absent {
    fn program(&self) -> &Program {
        &self.0
    }

    fn create(&self, place: &Place) -> Result<(), Error> {
        std::fs::create_dir(place.data.join("site")).map_err(Error::file("create", &place.data))
    }

    fn start(&self, _place: &Place) -> Result<Box<dyn Running>, Error> {
        unreachable!("a site is made before its server starts")
    }

    fn commands(&self, _has_log_volume: bool) -> Vec<String> {
        Vec::new()
    }
}

/// Servers, each with its version, in the order of their start.
fn parts(servers: &[(&str, &str)], data: &Path) -> Vec<Part> {
    let part = |&(name, version): &(&str, &str)| {
        let kind = services::kind(name).expect("it is in the list");
        let under = if servers.len() == 1 { PathBuf::new() } else { PathBuf::from(name) };
        let program = Program { path: PathBuf::new(), version: version.into(), user: None };
        let place = Place::new(data.join(&under), PathBuf::new());
        Part { kind, service: Box::new(Absent(program)), place, under }
    };
    servers.iter().map(part).collect()
}

/// How often it was asked to load.
#[derive(Default)]
struct Loads(usize);

impl Listener for Loads {
    fn step(&mut self, _name: &str, _seconds: f64) {}

    fn warn(&mut self, message: String) {
        panic!("{message}");
    }

    fn load(&mut self, reached: &Reached, _seed: u64) -> Result<Vec<Measured>, load::workload::Error> {
        self.0 += 1;
        std::fs::write(reached.data.join("site/page"), "text").expect("the document root is there");
        std::fs::write(reached.data.join("page.sqlite"), "data").expect("its folder is there");
        Ok(Vec::new())
    }
}

/// It had been installed once for each server.
#[test]
fn a_site_is_made_once_and_is_where_each_server_has_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let work = Work::own(&folder.path().join("work"), &Holder::this_process(None)).expect("free");
    let mut loads = Loads::default();
    let stacks: [(&[(&str, &str)], &str); 3] =
        [(&[("apache", "2.4")], ""), (&[("php-fpm", "8.2"), ("nginx", "1.22")], "nginx"), (&[("caddy", "2.6")], "")];
    for (servers, under) in stacks {
        let data = tempfile::tempdir().expect("a folder");
        let mut stage = Stage::set(&work).expect("a folder of the work folder");
        fill("site", &parts(servers, data.path()), data.path(), &mut stage, &work, &mut loads).expect("filled");
        let site = data.path().join(under);
        assert_eq!(std::fs::read_to_string(site.join("site/page")).expect("copied"), "text");
        assert_eq!(std::fs::read_to_string(site.join("page.sqlite")).expect("copied"), "data");
        assert!(!data.path().join(SITE).exists(), "it has its server's name");
    }
    assert_eq!(loads.0, 1);
}

#[test]
fn servers_of_one_site_share_a_template_and_databases_do_not() {
    let of = |data_key: &str, servers: &[(&str, &str)]| identity(data_key, &parts(servers, Path::new("")));
    let (mariadb, postgres, apache) = (("mariadb", "10.11"), ("postgres", "15"), ("apache", "2.4"));
    let one = of("blogs", &[mariadb, postgres, apache]);
    assert_eq!(one, of("blogs", &[mariadb, postgres, ("php-fpm", "8.2"), ("nginx", "1.22")]));
    assert_eq!(one, of("blogs", &[mariadb, postgres, ("apache", "2.5")]));
    for servers in [&[("mariadb", "11.4"), postgres, apache][..], &[mariadb, apache], &[postgres, apache], &[apache]] {
        assert_ne!(one, of("blogs", servers));
    }
    assert_ne!(one, of("more blogs", &[mariadb, postgres, apache]));
    assert_ne!(of("rows", &[postgres]), of("rows", &[("postgres", "16")]));
    assert_ne!(of("rows", &[postgres]), of("rows", &[mariadb]));
}

/// A log of one of several had no folder on its volume to be moved to.
#[test]
fn who_repeats_a_trial_of_several_servers_by_hand_makes_their_folders_on_both_volumes() {
    let commands =
        |has_log_volume| parts(&[("mariadb", ""), ("apache", "")], Path::new(""))[0].commands(has_log_volume);
    assert_eq!(commands(true), ["mkdir -p $MOUNT/data/mariadb", "mkdir -p $WAL/mariadb"]);
    assert_eq!(commands(false), ["mkdir -p $MOUNT/data/mariadb"]);
}
