//! The texts around the data: built in, or given by the project in their place.

use std::error::Error;
use std::fmt;

use minijinja::{AutoEscape, Environment, UndefinedBehavior};
use serde::Serialize;

/// A prompt's text with places for data, in minijinja's language; parsed once, filled in many times.
#[derive(Clone, Debug)]
pub struct Template {
    name: String,
    source: String,
    environment: Environment<'static>,
}

/// A template that cannot be used, and where it is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateError {
    /// The template's name: a path where the project gave it.
    pub template: String,
    /// The line at fault, from 1, where it is known.
    pub line: Option<usize>,
    /// What is wrong there.
    pub reason: String,
}

impl Template {
    /// The text of the task's part that comes with Ralph.
    ///
    /// # Errors
    ///
    /// Never in a build whose tests passed.
    pub fn built_in_task() -> Result<Self, TemplateError> {
        Self::parse(
            "task.md (built in)",
            include_str!("../../templates/task.md"),
        )
    }

    /// The rules for signals that come with Ralph.
    ///
    /// # Errors
    ///
    /// Never in a build whose tests passed.
    pub fn built_in_rules() -> Result<Self, TemplateError> {
        Self::parse(
            "rules.md (built in)",
            include_str!("../../templates/rules.md"),
        )
    }

    /// A text a project gives in place of the built-in one; `name` is how errors call it.
    ///
    /// # Errors
    ///
    /// When the text is not a template.
    pub fn parse(
        name: impl Into<String>,
        source: impl Into<String>,
    ) -> Result<Self, TemplateError> {
        let mut template = Self {
            name: name.into(),
            source: source.into(),
            environment: environment(),
        };
        let added = template
            .environment
            .add_template_owned(template.name.clone(), template.source.clone());
        match added {
            Ok(()) => Ok(template),
            Err(error) => Err(template.error(&error)),
        }
    }

    /// The template's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Fills in the data. A place without data is an error, never silently empty.
    ///
    /// # Errors
    ///
    /// When the template uses something that the data does not have, or uses it wrongly.
    pub fn render(&self, data: impl Serialize) -> Result<String, TemplateError> {
        self.environment
            .get_template(&self.name)
            .and_then(|template| template.render(data))
            .map_err(|error| self.error(&error))
    }

    fn error(&self, error: &minijinja::Error) -> TemplateError {
        let at = error
            .line()
            .and_then(|line| self.source.lines().nth(line.checked_sub(1)?));
        let reason = match (error.detail(), at) {
            (Some(detail), _) => format!("{}: {detail}", error.kind()),
            // minijinja does not say which name is not there; its line does.
            (None, Some(at)) => format!("{} in `{}`", error.kind(), at.trim()),
            (None, None) => error.kind().to_string(),
        };
        TemplateError {
            template: self.name.clone(),
            line: error.line(),
            reason,
        }
    }
}

/// Prompts are Markdown, so nothing is escaped whatever the template is called.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            template,
            line,
            reason,
        } = self;
        match line {
            Some(line) => write!(f, "template {template}, line {line}: {reason}"),
            None => write!(f, "template {template}: {reason}"),
        }
    }
}

impl Error for TemplateError {}
