//! The disk that a study asks for, from the names that it has there to what `powercut` knows.

use powercut::states::Rules;
use powercut::timing::Profile;
use serde::de::DeserializeOwned;
use serde_json::Value;
use storage::StorageSettings;
use study::trial_spec::Cut;

/// What a disk keeps in a power cut, and how fast it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drive {
    /// What it keeps.
    pub rules: Rules,
    /// Whose times it has.
    pub profile: Profile,
}

impl Drive {
    /// The disk of storage with device = "virtual".
    ///
    /// # Errors
    /// When a name is none that `powercut` knows: the trial was not written by this version.
    pub fn of_storage(settings: &StorageSettings) -> Result<Drive, serde_json::Error> {
        let rules = Rules { unit_bytes: settings.unit.bytes(), cache: named(settings.cache.name())? };
        Ok(Drive { rules, profile: named(&settings.disk)? })
    }

    /// The disk whose power is cut.
    ///
    /// # Errors
    /// When a name is none that `powercut` knows: the trial was not written by this version.
    pub fn new(cut: &Cut) -> Result<Drive, serde_json::Error> {
        let rules = Rules { unit_bytes: cut.unit_bytes, cache: named(&cut.cache)? };
        Ok(Drive { rules, profile: named(&cut.profile)? })
    }
}

/// What has this name.
pub(crate) fn named<T: DeserializeOwned>(name: &str) -> Result<T, serde_json::Error> {
    serde_json::from_value(Value::String(name.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use powercut::states::Cache;
    use settings::{Kind, Setting};

    /// All names of a kind, as the error about a wrong one lists them.
    fn names<T: DeserializeOwned + std::fmt::Debug>() -> String {
        named::<T>("?").expect_err("nobody is called that").to_string()
    }

    #[test]
    fn a_study_may_name_what_the_disk_knows_and_nothing_else() {
        let allowed = |table: &[Setting], name: &str| {
            let setting = table.iter().find(|setting| setting.name == name).expect("a setting");
            let Kind::Choice(words) = setting.kind else { panic!("{name} is no choice") };
            format!("unknown variant `?`, expected one of `{}`", words.join("`, `"))
        };
        assert_eq!(study::FAULTS, powercut::fault::names());
        for table in [study::SAFETY, storage::settings()] {
            assert_eq!(allowed(table, "cache"), names::<Cache>());
            assert_eq!(allowed(table, "disk"), names::<Profile>());
        }
    }

    #[test]
    fn storage_of_any_name_has_its_drive() {
        for (name, cache) in
            [("volatile", Cache::Volatile), ("write-through", Cache::WriteThrough), ("lying", Cache::Lying)]
        {
            let table = serde_json::json!({ "device": "virtual", "disk": "scsi-10k", "cache": name, "unit": "4096" });
            let drive = Drive::of_storage(&StorageSettings::from_map(table.as_object().expect("a table")));
            let rules = Rules { unit_bytes: 4096, cache };
            assert_eq!(drive.expect("a drive"), Drive { rules, profile: Profile::Scsi10k });
        }
    }
}
