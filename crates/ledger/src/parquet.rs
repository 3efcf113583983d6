//! The runs again as one Parquet file: a row a run and metric, with a column for each factor.
//!
//! Strings are words of a small dictionary, so that a file is a fraction of the CSV.

use crate::model::{RunRow, Scenario, Trial};
use crate::{Error, Reader, export};
use ::parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;
use observe::metric::Metric;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;
use std::sync::Arc;

/// Rows written at a time: what of the file is in memory.
const GROUP_ROWS: usize = 1 << 18;

/// The columns that every file has, with what a value is read from.
const COLUMNS: [(&str, Column); 17] = [
    ("scenario", Column::Text(|row| row.trial.scenario.clone())),
    ("workload", Column::Text(|row| row.scenario.workload.clone())),
    ("round", Column::Small(|row| row.trial.round.cast_signed())),
    ("position", Column::Small(|row| row.trial.position.cast_signed())),
    ("trial", Column::Large(|row| row.trial.id)),
    ("state", Column::Text(|row| export::plain(&row.trial.state))),
    ("run", Column::Small(|row| row.run.run.cast_signed())),
    ("warm_up", Column::Truth(|row| row.run.warm_up)),
    ("started", Column::Number(|row| row.run.started)),
    ("seconds", Column::Number(|row| row.run.seconds)),
    ("metric", Column::Text(|row| row.metric.name.to_string())),
    ("unit", Column::Text(|row| row.metric.unit.to_string())),
    ("direction", Column::Text(|row| export::plain(&row.metric.direction))),
    ("value", Column::Number(|row| row.value)),
    ("phase", Column::Text(|row| export::plain(&row.trial.phase))),
    ("group", Column::Text(|row| export::number(row.trial.group))),
    ("member", Column::Text(|row| export::number(row.trial.member))),
];

/// What a column holds.
enum Column {
    Text(fn(&Row) -> String),
    Small(fn(&Row) -> i32),
    Large(fn(&Row) -> i64),
    Truth(fn(&Row) -> bool),
    Number(fn(&Row) -> f64),
}

struct Row<'a> {
    scenario: &'a Scenario,
    trial: &'a Trial,
    run: &'a RunRow,
    metric: &'a Metric,
    value: f64,
}

/// One row a run and metric, warm-ups included, as [`export::csv`] has them; a factor's column is empty where a scenario has no
/// level of it.
///
/// # Errors
/// When the ledger can't be read or the file not be written.
pub fn write(reader: &Reader, out: impl Write + Send) -> Result<(), Error> {
    let contents = reader.contents()?;
    let factors = factor_columns(&contents.scenarios);
    let scenarios: HashMap<&str, &Scenario> =
        contents.scenarios.iter().map(|scenario| (scenario.label.as_str(), scenario)).collect();
    let trials: BTreeMap<i64, &Trial> = contents.trials.iter().map(|trial| (trial.id, trial)).collect();
    let of_run =
        |run: &'_ RunRow| Some((*trials.get(&run.trial)?, *scenarios.get(trials.get(&run.trial)?.scenario.as_str())?));
    let rows = contents.runs.iter().filter_map(|run| Some((run, of_run(run)?))).flat_map(|(run, (trial, scenario))| {
        let metrics = &contents.metrics;
        run.metrics.iter().map(move |(name, &value)| Row { scenario, trial, run, metric: &metrics[&**name], value })
    });
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file =
        SerializedFileWriter::new(out, schema(&factors).map_err(failed)?, properties.into()).map_err(failed)?;
    let mut rows = rows.peekable();
    while rows.peek().is_some() {
        let some: Vec<Row> = rows.by_ref().take(GROUP_ROWS).collect();
        let mut group = file.next_row_group().map_err(failed)?;
        columns(&mut group, &some, &factors).map_err(failed)?;
        group.close().map_err(failed)?;
    }
    file.close().map_err(failed)?;
    Ok(())
}

/// The column of each factor, and its name. A study's several workloads are a factor of it that has its column already; any other that is called like
/// one of those that every file has gets underscores.
fn factor_columns(scenarios: &[Scenario]) -> Vec<(String, &str)> {
    let all: BTreeSet<&str> =
        scenarios.iter().flat_map(|scenario| scenario.levels.keys()).map(String::as_str).collect();
    let is_workload = |one: &Scenario| one.levels.get("workload").is_none_or(|level| *level == one.workload);
    let is_said = |factor: &str| factor == "workload" && scenarios.iter().all(is_workload);
    let column = |factor: &str| {
        let mut name = factor.to_string();
        while COLUMNS.iter().any(|(known, _)| *known == name) || (name != factor && all.contains(&*name)) {
            name.push('_');
        }
        name
    };
    all.iter().filter(|factor| !is_said(factor)).map(|factor| (column(factor), *factor)).collect()
}

fn failed(error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => Error::Export(*source),
            Err(source) => Error::Export(std::io::Error::other(source)),
        },
        other => Error::Export(std::io::Error::other(other)),
    }
}

fn schema(factors: &[(String, &str)]) -> Result<Arc<Type>, ParquetError> {
    let fixed = COLUMNS.iter().map(|(name, column)| {
        let physical = match column {
            Column::Text(_) => Physical::BYTE_ARRAY,
            Column::Small(_) => Physical::INT32,
            Column::Large(_) => Physical::INT64,
            Column::Truth(_) => Physical::BOOLEAN,
            Column::Number(_) => Physical::DOUBLE,
        };
        (*name, physical, Repetition::REQUIRED)
    });
    let of_factors = factors.iter().map(|(name, _)| (name.as_str(), Physical::BYTE_ARRAY, Repetition::OPTIONAL));
    let fields = fixed.chain(of_factors).map(|(name, physical, repetition)| {
        let kind = if physical == Physical::BYTE_ARRAY { ConvertedType::UTF8 } else { ConvertedType::NONE };
        let field = Type::primitive_type_builder(name, physical).with_repetition(repetition).with_converted_type(kind);
        Ok(Arc::new(field.build()?))
    });
    let fields = fields.collect::<Result<Vec<_>, ParquetError>>()?;
    Ok(Arc::new(Type::group_type_builder("runs").with_fields(fields).build()?))
}

fn all<T>(rows: &[Row], of: fn(&Row) -> T) -> Vec<T> {
    rows.iter().map(of).collect()
}

fn columns<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<W>,
    rows: &[Row],
    factors: &[(String, &str)],
) -> Result<(), ParquetError> {
    for (_, column) in &COLUMNS {
        let mut writer = group.next_column()?.expect("as many columns as the schema has");
        match column {
            Column::Text(of) => {
                let values: Vec<ByteArray> = rows.iter().map(|row| of(row).into_bytes().into()).collect();
                writer.typed::<ByteArrayType>().write_batch(&values, None, None)?
            }
            Column::Small(of) => writer.typed::<Int32Type>().write_batch(&all(rows, *of), None, None)?,
            Column::Large(of) => writer.typed::<Int64Type>().write_batch(&all(rows, *of), None, None)?,
            Column::Truth(of) => writer.typed::<BoolType>().write_batch(&all(rows, *of), None, None)?,
            Column::Number(of) => writer.typed::<DoubleType>().write_batch(&all(rows, *of), None, None)?,
        };
        writer.close()?;
    }
    for (_, factor) in factors {
        let mut writer = group.next_column()?.expect("as many columns as the schema has");
        let levels: Vec<Option<&String>> = rows.iter().map(|row| row.scenario.levels.get(*factor)).collect();
        let present: Vec<i16> = levels.iter().map(|level| i16::from(level.is_some())).collect();
        let values: Vec<ByteArray> = levels.into_iter().flatten().map(|level| level.as_str().into()).collect();
        writer.typed::<ByteArrayType>().write_batch(&values, Some(&present), None)?;
        writer.close()?;
    }
    Ok(())
}
