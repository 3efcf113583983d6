//! What `fleet kubernetes` prints, held against the published schemas of Kubernetes' API, in which no unknown field is allowed.

use crate::harness::{World, small_study};
use serde_json::Value;

/// The oldest version that has all that is used, and the newest. Where they are from is said in `kubernetes/schemas.py`.
const SCHEMAS: [(&str, &str); 2] =
    [("1.29", include_str!("kubernetes/schema-1.29.json")), ("1.37", include_str!("kubernetes/schema-1.37.json"))];

/// The documents of a manifest, as a reader of YAML has them.
fn documents(manifest: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(manifest).unwrap_or_else(|error| panic!("{error}\n{manifest}"))
}

/// What the schemas say of a document.
fn judged(document: &Value) -> Vec<(&'static str, Result<(), String>)> {
    let judge = |(version, text): (&'static str, &str)| {
        let mut schemas = boon::Schemas::new();
        let mut compiler = boon::Compiler::new();
        compiler.add_resource("schema.json", serde_json::from_str(text).expect("JSON")).expect("one resource");
        let schema = compiler.compile("schema.json", &mut schemas).expect("a schema");
        (version, schemas.validate(document, schema).map_err(|error| format!("{error:#}")))
    };
    SCHEMAS.into_iter().map(judge).collect()
}

#[track_caller]
fn assert_valid(manifest: &str) -> Vec<Value> {
    let documents = documents(manifest);
    for document in &documents {
        for (version, verdict) in judged(document) {
            assert_eq!(verdict, Ok(()), "Kubernetes {version}:\n{manifest}");
        }
    }
    documents
}

fn manifest(world: &World, arguments: &[&str]) -> String {
    let all =
        [&["fleet", "kubernetes"], arguments, &["--nodes", "20", "--image", "registry.example/surefoot:1"]].concat();
    world.surefoot(&all).status(0).stdout
}

#[test]
fn a_manifest_is_what_the_api_takes() {
    let world = World::new();
    // What YAML could take for something else.
    let study = small_study(&["ext4", "xfs"], 3) + "# it's: [a, \"study\"] & no\tanchor\n\n#   end\n";
    world.write("small.toml", &study);
    let arguments = ["small.toml", "--results", "/shared/mail", "--set", "workload.oltp.threads=2", "--seed", "7"];
    let text = manifest(&world, &arguments);
    let [map, job] = &assert_valid(&text)[..] else { panic!("two documents, not\n{text}") };
    assert_eq!(map["data"]["study.toml"], *study, "the study is carried as it is");
    let spec = &job["spec"];
    assert_eq!(
        (&spec["completionMode"], &spec["completions"], &spec["parallelism"]),
        (&"Indexed".into(), &20.into(), &20.into())
    );
    let pod = &spec["template"]["spec"];
    let member = &pod["containers"][0];
    assert_eq!(member["securityContext"]["privileged"], true);
    assert_eq!(
        member["env"][0],
        serde_json::json!({ "name": "SUREFOOT_MEMBERS", "value": "20" }),
        "Kubernetes does not say it"
    );
    let script = member["args"][0].as_str().expect("a script");
    let line = "surefoot run /study/study.toml --set workload.oltp.threads=2 --seed 7 --member auto --results /results --work /work/surefoot-small --quiet\n";
    assert!(script.starts_with(line), "{script}");
    let volumes = pod["volumes"].as_array().expect("volumes");
    let volume = |name: &str| volumes.iter().find(|volume| volume["name"] == name).expect("it is there");
    assert_eq!(volume("results")["hostPath"]["path"], "/shared/mail");
    assert_eq!(volume("work")["hostPath"]["path"], "/var/tmp");
    assert_eq!(volume("study")["configMap"]["name"], map["metadata"]["name"]);
    let expected = "# `surefoot plan` says of each: 3 scenarios in 3 rounds, about ";
    assert!(text.contains(expected), "{text}");
    let limit = pod["activeDeadlineSeconds"].as_u64().expect("a limit");
    assert!((600..1200).contains(&limit), "seconds of work and ten minutes: {limit}");
    // What is there to be uncommented can be.
    let keys = ["nodeSelector", "  node.kubernetes", "tolerations", "  - key", "    operator"];
    let uncommented = keys.iter().fold(text.clone(), |text, key| text.replace(&format!("# {key}"), key));
    let job = assert_valid(&uncommented).remove(1);
    assert_eq!(job["spec"]["template"]["spec"]["tolerations"][0]["operator"], "Exists");
}

/// What a failing disk does is measured after the rounds, and takes longer than all of them.
#[test]
fn a_pod_has_time_for_what_a_disk_may_do() {
    let world = World::new();
    let safety = "[safety]\nfaults = [\"write-error\"]\nfault_budget = \"10min\"\n";
    world.write("small.toml", small_study(&["ext4", "xfs"], 1) + safety);
    let job = assert_valid(&manifest(&world, &["small.toml", "--results", "/shared"])).remove(1);
    let limit = job["spec"]["template"]["spec"]["activeDeadlineSeconds"].as_u64().expect("a limit");
    assert!(limit > 1800 + 600, "one and a half times twenty minutes, and ten: {limit}");
}

/// Who asks for a manifest is seldom root, and its pods are: an ordinary user's study had been read as one for guest kernels, and what these
/// can't do refused.
#[test]
fn an_ordinary_user_s_manifest_is_that_of_root() {
    let (world, binary) = crate::guest::of_ordinary_user();
    world.write("small.toml", small_study(&["ext4", "xfs"], 3) + "order = \"turns\"\n");
    let words = ["fleet", "kubernetes", "small.toml", "--nodes", "3", "--image", "i", "--claim", "results"];
    let of_user = crate::guest::as_ordinary_user(&world, &binary, &words).status(0);
    assert!(!of_user.stderr.contains("guest kernel"), "{}", of_user.stderr);
    let of_root = world.surefoot(&words).status(0).stdout;
    assert_eq!(of_user.stdout, of_root);
    // Turns need namespaces, which are there on the nodes.
    assert_eq!(crate::guest::without_namespaces(&world, &binary, &words).status(0).stdout, of_root);
}

/// A member finds out which of how many it is by what the manifest gives it, and the script says what it is for a shell.
#[test]
fn a_pod_s_script_and_variables_make_a_member() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1));
    let text = manifest(&world, &["small.toml", "--results", "/shared", "--work", "/disk/it's here"]);
    let job = assert_valid(&text).remove(1);
    let member = &job["spec"]["template"]["spec"]["containers"][0];
    // The container's folders, in the test's own.
    let script = member["args"][0].as_str().expect("a script").replace("/study/", "").replace("/results", "fleet");
    let script = script.replace("'/work/", "'work/");
    std::fs::create_dir(world.path().join("work")).expect("the mount is there");
    let path = format!(
        "{}:{}",
        env!("CARGO_BIN_EXE_surefoot").trim_end_matches("/surefoot"),
        std::env::var("PATH").expect("PATH")
    );
    std::fs::rename(world.path().join("small.toml"), world.path().join("study.toml")).expect("it was there");
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &script]).current_dir(world.path()).env("PATH", path).env("JOB_COMPLETION_INDEX", "19");
    for variable in member["env"].as_array().expect("variables") {
        let value = variable["value"].as_str().unwrap_or("node-19");
        shell.env(variable["name"].as_str().expect("a name"), value);
    }
    let said = crate::harness::said(&shell.output().expect("a shell"));
    said.status(0).says("member 20 of 20 on node-19").says("JOB_COMPLETION_INDEX=19");
    assert!(world.path().join("fleet/small.member-20-of-20.attempt-1.surefoot").is_file());
    assert_eq!(world.path().join("work").read_dir().expect("a folder").count(), 0, "the node keeps nothing");
    world.assert_nothing_left();
}

#[test]
fn a_claim_a_built_in_study_and_one_in_the_image_need_no_config_map() {
    let world = World::new();
    let text = manifest(&world, &["quick", "--claim", "results"]);
    let [job] = &assert_valid(&text)[..] else { panic!("one document, not\n{text}") };
    let pod = &job["spec"]["template"]["spec"];
    assert!(pod["containers"][0]["args"][0].as_str().is_some_and(|script| script.starts_with("surefoot run quick ")));
    assert_eq!(pod["volumes"][0]["persistentVolumeClaim"]["claimName"], "results");
    world.write("small.toml", small_study(&["ext4"], 1) + &"#".repeat(1 << 20)[..1_045_000]);
    let refused = |arguments: &[&str], words: &str| {
        let all = [&["fleet", "kubernetes", "small.toml", "--nodes", "3", "--image", "i"], arguments].concat();
        world.surefoot(&all).status(2).says(words);
    };
    refused(&["--results", "/shared"], "--image-study");
    let in_image = ["--image-study", "/studies/mail 1.toml"];
    refused(&in_image, "--claim names a PersistentVolumeClaim");
    refused(&[&in_image[..], &["--claim", "results", "--work", "/"]].concat(), "is no folder on a disk");
    let text = manifest(&world, &[&["small.toml", "--claim", "results"], &in_image[..]].concat());
    let [job] = &assert_valid(&text)[..] else { panic!("one document, not\n{text}") };
    let script = &job["spec"]["template"]["spec"]["containers"][0]["args"][0];
    assert!(
        script.as_str().is_some_and(|script| script.starts_with("surefoot run '/studies/mail 1.toml' ")),
        "{script}"
    );
}

#[test]
fn a_field_that_the_api_does_not_have_is_refused() {
    let world = World::new();
    world.write("small.toml", small_study(&["ext4"], 1));
    let text = manifest(&world, &["small.toml", "--results", "/shared"]);
    assert_valid(&text);
    for (right, wrong) in [
        ("backoffLimitPerIndex:", "backOffLimitPerIndex:"),
        ("completionMode:", "completionsMode:"),
        ("topologyKey:", "topology:"),
        ("privileged: true", "privileged: \"true\""),
        ("restartPolicy:", "restartpolicy:"),
        ("fieldPath:", "path:"),
        ("claimName:", "claim:"),
        ("type: Directory\n", "kind: Directory\n"),
        ("immutable:", "imutable:"),
        ("apiVersion: batch/v1\n", "apiVersion: batch/v2\n"),
    ] {
        let changed = manifest_with(&world, &text, right).replace(right, wrong);
        let is_refused =
            documents(&changed).iter().any(|document| judged(document).iter().all(|(_, verdict)| verdict.is_err()));
        assert!(is_refused, "`{wrong}` passes for `{right}`");
    }
}

/// The manifest, or the one that has this word.
fn manifest_with(world: &World, text: &str, word: &str) -> String {
    let found = if text.contains(word) { text.into() } else { manifest(world, &["small.toml", "--claim", "results"]) };
    assert!(found.contains(word), "no {word}");
    found
}
