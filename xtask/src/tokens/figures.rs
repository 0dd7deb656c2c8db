//! Figures with their budgets, and the ceilings that are committed for them.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use toml::{Table, Value};

use super::read;
use crate::ui;

/// The table of the committed file that holds the ceilings.
pub(super) const TABLE: &str = "tokens";

/// What was measured, in the order in which it was.
#[derive(Debug, Default)]
pub(super) struct Figures(Vec<Figure>);

/// What was measured, and the most it may be.
#[derive(Debug)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) value: usize,
    pub(crate) budget: usize,
}

/// The middle one of some numbers; 0 of none.
pub(super) fn median(mut values: Vec<usize>) -> usize {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

impl Figures {
    pub(super) fn into_vec(self) -> Vec<Figure> {
        self.0
    }

    /// Adds a figure and the most it may be, and prints both.
    pub(super) fn add(&mut self, name: &str, value: usize, budget: usize) {
        ui::line(&format!("{name:<30} {value:>7}  (at most {budget})"));
        self.0.push(Figure {
            name: name.to_owned(),
            value,
            budget,
        });
    }

    /// Adds the median and the maximum of some costs, and gives the median.
    pub(super) fn median_and_max(
        &mut self,
        name: &str,
        costs: Vec<usize>,
        budgets: [usize; 2],
    ) -> usize {
        let most = costs.iter().max().copied().unwrap_or_default();
        let middle = median(costs);
        self.add(&format!("{name}_median"), middle, budgets[0]);
        self.add(&format!("{name}_max"), most, budgets[1]);
        middle
    }

    /// Writes what is reached now as the ceilings, and leaves the rest of the file as it is.
    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let comments = text.lines().take_while(|line| line.starts_with('#'));
        let comments: Vec<&str> = comments.collect();
        let mut table: Table = toml::from_str(&text)?;
        let ceiling = |figure: &Figure| {
            let value = i64::try_from(figure.value)?;
            Ok((figure.name.clone(), Value::Integer(value)))
        };
        let ceilings: Result<Table> = self.0.iter().map(ceiling).collect();
        table.insert(TABLE.to_owned(), Value::Table(ceilings?));
        let body = toml::to_string_pretty(&table)?;
        fs::write(path, format!("{}\n{body}", comments.join("\n")))?;
        Ok(())
    }

    /// Fails where a figure is over its budget or over the ceiling that is committed for it.
    pub(super) fn check(&self, path: &Path) -> Result<()> {
        let table: Table = toml::from_str(&read(path)?)
            .with_context(|| format!("{} does not parse", path.display()))?;
        let ceilings = table.get(TABLE).and_then(Value::as_table);
        if ceilings.is_none() {
            ui::line("no ceilings are committed yet; write them with --write-floors");
        }
        let mut over = Vec::new();
        for figure in &self.0 {
            let ceiling = ceilings.and_then(|ceilings| ceilings.get(&figure.name));
            let ceiling = ceiling.and_then(Value::as_integer);
            let ceiling = ceiling.and_then(|most| usize::try_from(most).ok());
            let most = ceiling.unwrap_or(figure.budget).min(figure.budget);
            if figure.value > most {
                over.push(format!(
                    "{} is {}, at most {most}",
                    figure.name, figure.value
                ));
            }
        }
        if !over.is_empty() {
            bail!("more than it may be: {}", over.join("; "));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(median: usize) -> Figures {
        let mut figures = Figures::default();
        figures.median_and_max("details", vec![1, median, 900], [130, 1_500]);
        figures
    }

    #[test]
    fn a_figure_over_its_budget_or_its_ceiling_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("floors.toml");
        fs::write(&path, "# Kept.\nother = 1\n").unwrap();
        assert!(figures(120).check(&path).is_ok());
        let error = figures(131).check(&path).unwrap_err().to_string();
        assert!(
            error.ends_with("details_median is 131, at most 130"),
            "{error}"
        );
        figures(120).write(&path).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# Kept.\nother = 1\n"), "{text}");
        assert!(figures(120).check(&path).is_ok());
        let error = figures(121).check(&path).unwrap_err().to_string();
        assert!(
            error.ends_with("details_median is 121, at most 120"),
            "{error}"
        );
        // Writing again keeps one table.
        figures(119).write(&path).unwrap();
        assert!(figures(120).check(&path).is_err());
    }

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median(vec![9, 1, 5]), 5);
        assert_eq!(median(Vec::new()), 0);
    }
}
