//! From a document's description to a PDF: paper, type, tables that go on over pages, pictures, attachments.
//!
//! The program `surefoot-pdf` is this and its standard input and output; `surefoot report --pdf` starts it. It is a program of its own
//! because Typst, the library that sets the document, is half of all packages, and most reports are read on a screen. The description
//! is JSON made by `report`; what it looks like on paper is `document.typ`, in Typst's language. Knows no study and no measurement.

use serde::Deserialize;
use std::collections::BTreeMap;
use typst::diag::{FileError, FileResult, SourceDiagnostic};
use typst::foundations::{Bytes, Datetime, Duration, Smart};
use typst::syntax::{FileId, RootedPath, Source, VirtualPath, VirtualRoot};
use typst::text::{Font, FontBook};
use typst::utils::LazyHash;
use typst::{Library, LibraryExt as _, World};
use typst_layout::PagedDocument;
use typst_pdf::PdfOptions;

const TEMPLATE: &str = include_str!("document.typ");
const TEMPLATE_NAME: &str = "document.typ";
/// What the template reads the description from.
const DESCRIPTION_NAME: &str = "document.json";

/// What the program reads: a document with all that it shows.
#[derive(Debug, Deserialize)]
pub struct Document {
    /// In the shape that `document.typ` reads.
    pub description: serde_json::Value,
    /// The pictures (SVG) and attachments that it names.
    pub files: BTreeMap<String, String>,
}

/// Why nothing was set.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input is no document.
    #[error("this is not a document of surefoot's: {0}")]
    Input(#[from] serde_json::Error),
    /// The description is not one that the template can set, or a picture is none.
    #[error("the document could not be set: {}", .0.join("; "))]
    Document(Vec<String>),
}

/// Sets the document that `json` describes, a [`Document`].
///
/// The same input gives the same bytes: no clock and no font of the machine goes into them.
///
/// # Errors
/// When it is no document, does not fit the template, or names a file that is not there.
pub fn pdf(json: &[u8]) -> Result<Vec<u8>, Error> {
    let Document { description, files } = serde_json::from_slice(json)?;
    let mut files: BTreeMap<String, Bytes> =
        files.into_iter().map(|(name, content)| (name, Bytes::from_string(content))).collect();
    files.insert(DESCRIPTION_NAME.into(), Bytes::from_string(description.to_string()));
    let document: PagedDocument =
        typst::compile(&DocumentWorld::new(files)).output.map_err(|problems| refused(&problems))?;
    let options = PdfOptions { creator: Smart::Custom(Some("surefoot".into())), ..PdfOptions::default() };
    typst_pdf::pdf(&document, &options).map_err(|problems| refused(&problems))
}

fn refused(problems: &[SourceDiagnostic]) -> Error {
    let words = |problem: &SourceDiagnostic| {
        let hints = problem.hints.iter().map(|hint| format!(" ({})", hint.v));
        format!("{}{}", problem.message, hints.collect::<String>())
    };
    Error::Document(problems.iter().map(words).collect())
}

/// All that the typesetter may see: the template, the document's files, the fonts that came with us.
struct DocumentWorld {
    library: LazyHash<Library>,
    book: LazyHash<FontBook>,
    fonts: Vec<Font>,
    template: Source,
    files: BTreeMap<String, Bytes>,
}

impl DocumentWorld {
    fn new(files: BTreeMap<String, Bytes>) -> DocumentWorld {
        let fonts = fonts();
        let template = VirtualPath::new(TEMPLATE_NAME).expect("a plain file name is a path");
        let id = RootedPath::new(VirtualRoot::Project, template).intern();
        DocumentWorld {
            library: LazyHash::new(Library::default()),
            book: LazyHash::new(FontBook::from_fonts(&fonts)),
            fonts,
            template: Source::new(id, TEMPLATE.into()),
            files,
        }
    }
}

/// Libertinus for text, DejaVu Sans for charts (it has their arrows and signs), DejaVu Sans Mono for commands.
fn fonts() -> Vec<Font> {
    let of_charts = [dejavu::sans::regular(), dejavu::sans::bold()];
    typst_assets::fonts().chain(of_charts).flat_map(|file| Font::iter(Bytes::new(file))).collect()
}

impl World for DocumentWorld {
    fn library(&self) -> &LazyHash<Library> {
        &self.library
    }

    fn book(&self) -> &LazyHash<FontBook> {
        &self.book
    }

    fn main(&self) -> FileId {
        self.template.id()
    }

    fn source(&self, id: FileId) -> FileResult<Source> {
        if id == self.template.id() { Ok(self.template.clone()) } else { Err(FileError::NotSource) }
    }

    fn file(&self, id: FileId) -> FileResult<Bytes> {
        let name = id.vpath().get_without_slash();
        self.files.get(name).cloned().ok_or_else(|| FileError::NotFound(name.into()))
    }

    fn font(&self, index: usize) -> Option<Font> {
        self.fonts.get(index).cloned()
    }

    fn today(&self, _offset: Option<Duration>) -> Option<Datetime> {
        None
    }
}
