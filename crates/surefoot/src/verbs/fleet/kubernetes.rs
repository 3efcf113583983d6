//! `fleet kubernetes`: a manifest of an Indexed Job, a member each, each alone on a node. It is printed and sent nowhere.
//!
//! Pure text: every string is quoted, so that no name of a study can be read as anything else.

use super::member;
use crate::cli::fleet::KubernetesArgs;
use crate::failure::{Failure, Status};
use crate::source::RunsAs;
use anyhow::anyhow;
use crash::plan::Plan;
use lab::estimate;
use settings::quantity::{format_bytes, format_seconds};
use std::path::Path;

/// A ConfigMap has at most 1 MiB (the API's documentation), names and labels included.
const STUDY_BYTES_MAX: usize = (1 << 20) - (16 << 10);
/// A Job's pods are named after it and their index, in the 63 letters of a DNS label.
const NAME_LETTERS_MAX: usize = 40;
/// Where a member's container has things.
const STUDY: &str = "/study/study.toml";
const RESULTS: &str = "/results";
const WORK: &str = "/work";

/// Prints the manifest.
pub fn run(args: &KubernetesArgs) -> Result<Status, Failure> {
    // The pods are root's, whoever prints their manifest.
    let loaded = member::load(&args.study, args.nodes, RunsAs::Root)?;
    let plan = &loaded.plan;
    let carried = args.image_study.is_none() && !member::is_built_in(&args.study.study);
    if carried && loaded.text.len() > STUDY_BYTES_MAX {
        let error = anyhow!(
            "the study has {} bytes, and the ConfigMap that would carry it at most {STUDY_BYTES_MAX}",
            loaded.text.len()
        );
        return Err(Failure::new(Status::BadStudy, error)
            .hint("put it into the image, and say its path there by --image-study"));
    }
    let name = name(&plan.name);
    let config_map = if carried { config_map(&name, &loaded.text) } else { String::new() };
    let job = job(args, plan, &name, carried)?;
    print!("{}{config_map}{job}", head(args, plan));
    Ok(Status::Answered)
}

/// What it is for whoever reads it, with what `plan` says of a member.
fn head(args: &KubernetesArgs, plan: &Plan) -> String {
    let (rounds, scenarios) = (plan.design.rounds_min, plan.scenarios.len());
    let expected = format_seconds((estimate::expected_seconds(plan) / 60.0).ceil() * 60.0);
    let space = format_bytes(estimate::space_needed(plan));
    let read = match &args.claim {
        Some(claim) => format!("`surefoot merge DIR -o FILE` in any pod that mounts the claim {claim:?}"),
        None => "`surefoot fleet status DIR` and `surefoot fleet collect DIR`, DIR being the folder of results,".into(),
    };
    format!(
        "# A fleet of {members} members, a node each, which measure the study {study:?}: made by `surefoot fleet kubernetes`.\n\
         # `surefoot plan` says of each: {scenarios} scenarios in {rounds} rounds, about {expected}, {space} in its work folder.\n\
         # Kubernetes 1.29 or newer, and a namespace whose Pod Security level is `privileged`. `kubectl create -f FILE` starts it\n\
         # (`apply` would store the study once more, in at most 256 KiB), `kubectl delete -f FILE` ends it.\n\
         # {read} show how it went.\n",
        members = args.nodes,
        study = plan.name,
    )
}

fn config_map(name: &str, text: &str) -> String {
    format!(
        "apiVersion: v1\n\
         kind: ConfigMap\n\
         metadata:\n\
         {}\
         # All members measure one study.\n\
         immutable: true\n\
         data:\n  \
         # A ConfigMap has at most 1 MiB: a larger study goes into the image (--image-study), as do the files that a study names.\n  \
         study.toml: {}\n---\n",
        metadata(name, 2),
        scalar(text, 4),
    )
}

/// The Job, whole.
fn job(args: &KubernetesArgs, plan: &Plan, name: &str, carried: bool) -> Result<String, Failure> {
    let results = results_volume(args)?;
    let (parent, folder) = split(&member::work(&args.study, plan)?)?;
    let [mount, volume] = if carried {
        [
            "            - name: study\n              mountPath: /study\n              readOnly: true\n".to_string(),
            format!("        - name: study\n          configMap:\n            name: {}\n", quoted(name)),
        ]
    } else {
        [String::new(), String::new()]
    };
    Ok(format!(
        include_str!("kubernetes.yaml"),
        metadata = metadata(name, 2),
        labels = labels(name, 6),
        nodes = args.nodes,
        limit = member::limit_seconds(plan) as u64,
        image = quoted(&args.image),
        script = scalar(&script(args, name, carried, &folder), 14),
        mount = mount,
        volume = volume,
        results = results,
        parent = quoted(&parent),
        results_path = RESULTS,
        work_path = WORK,
    ))
}

/// What a member's shell does.
fn script(args: &KubernetesArgs, name: &str, carried: bool, folder: &str) -> String {
    let work = report::quoted(&format!("{WORK}/{folder}"));
    let study = match &args.image_study {
        Some(path) => path.as_str(),
        None if carried => STUDY,
        None => &args.study.study,
    };
    let results = if args.claim.is_some() { format!("{RESULTS}/{name}") } else { RESULTS.into() };
    let mut words = vec!["surefoot".into(), "run".into(), report::quoted(study)];
    words.extend(member::changes(&args.study));
    words.extend(["--member auto --results".into(), results, "--work".into(), work.clone(), "--quiet".into()]);
    format!(
        "{}\nstatus=$?\n\
         # What was measured lies with the results. After a fault the folder stays, and a start on the same node goes on with it.\n\
         case $status in 0|3) surefoot clean --work {work} ;; esac\n\
         exit $status\n",
        words.join(" "),
    )
}

/// Where the results go: a claim, or a folder that all nodes have mounted.
fn results_volume(args: &KubernetesArgs) -> Result<String, Failure> {
    match (&args.claim, &args.study.results) {
        (Some(claim), _) => Ok(format!("          persistentVolumeClaim:\n            claimName: {}\n", quoted(claim))),
        (None, Some(folder)) => Ok(format!(
            "          hostPath:\n            path: {}\n            # A node that has not mounted it must not write to its own disk.\n            type: Directory\n",
            quoted(&std::path::absolute(folder)?.to_string_lossy())
        )),
        (None, None) => {
            let error = anyhow!("nobody says where the members' results go");
            Err(Failure::new(Status::BadStudy, error).hint(
                "--claim names a PersistentVolumeClaim that all nodes may write to (ReadWriteMany), --results a folder that all have mounted",
            ))
        }
    }
}

/// A work folder's parent, which is mounted, and its own name: a mount can't be removed.
fn split(work: &Path) -> Result<(String, String), Failure> {
    let both = work.parent().zip(work.file_name());
    let (parent, name) = both.ok_or_else(|| {
        Failure::new(Status::BadStudy, anyhow!("--work {} is no folder on a disk", work.display()))
            .hint("name a folder that the members may make and remove, like /var/tmp/surefoot")
    })?;
    Ok((parent.to_string_lossy().into_owned(), name.to_string_lossy().into_owned()))
}

/// A name as a DNS label has it, and is told apart by.
fn name(study: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' };
    let label: String = study.chars().map(plain).take(NAME_LETTERS_MAX).collect();
    format!("surefoot-{}", label.trim_matches('-')).trim_end_matches('-').into()
}

fn metadata(name: &str, indent: usize) -> String {
    format!("{:indent$}name: {}\n{}", "", quoted(name), labels(name, indent))
}

fn labels(name: &str, indent: usize) -> String {
    let (pad, name) = (" ".repeat(indent), quoted(name));
    format!("{pad}labels:\n{pad}  app.kubernetes.io/name: surefoot\n{pad}  app.kubernetes.io/instance: {name}\n")
}

/// What YAML's readers take for the end of a line, a mark or nothing, or refuse.
fn is_odd(letter: char) -> bool {
    let is_layout = matches!(letter, '\n' | '\t');
    let is_mark = matches!(letter, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    (letter.is_control() && !is_layout) || is_mark
}

/// A string that no YAML reader takes for anything else: JSON's form is one of YAML's.
fn quoted(text: &str) -> String {
    let json = serde_json::to_string(text).expect("a string is JSON");
    let plain = |letter: char| if is_odd(letter) { format!("\\u{:04x}", u32::from(letter)) } else { letter.into() };
    json.chars().map(plain).collect()
}

/// A text as lines, where YAML can hold it so; else quoted.
fn scalar(text: &str, indent: usize) -> String {
    let ends_once = text.ends_with('\n') && !text.ends_with("\n\n");
    if text.chars().any(is_odd) || text.starts_with(['\n', ' ', '\t']) || !ends_once {
        return quoted(text);
    }
    let pad = " ".repeat(indent);
    let line = |line: &str| if line.is_empty() { "\n".into() } else { format!("\n{pad}{line}") };
    format!("|{}", text.lines().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_label() {
        assert_eq!(name("Mail_2 (ä)"), "surefoot-mail-2");
        assert_eq!(name("---"), "surefoot");
        assert_eq!(name(&"long".repeat(30)).len(), "surefoot-".len() + NAME_LETTERS_MAX);
    }

    #[test]
    fn a_text_stands_in_lines_where_it_can() {
        assert_eq!(scalar("a\n\n  b\n", 2), "|\n  a\n\n    b");
        for odd in ["", "a", " a\n", "\na\n", "a\n\n", "a\r\n", "a\u{2028}\n", "a\u{85}\n"] {
            assert_eq!(scalar(odd, 2), quoted(odd), "{odd:?}");
        }
        assert_eq!(quoted("\"\u{85}ä\n"), r#""\"\u0085ä\n""#);
    }
}
