//! What the APIs of the services have in common, as far as a scripted model needs it.

use serde_json::Value;

use super::chat::Chat;
use super::gemini::Gemini;
use super::http::Call;
use super::messages::Messages;
use super::responses::Responses;

/// What an answer holds.
#[derive(Clone, Copy)]
pub enum Content<'a> {
    /// A text; the turn is over.
    Text(&'a str),
    /// The use of a tool.
    Tool {
        /// Its name.
        name: &'a str,
        /// What it is used with.
        input: &'a Value,
    },
}

/// One event of a streamed answer.
pub struct Event {
    /// Its name, where the API names events.
    pub name: Option<String>,
    /// Its data; a string is sent as it is.
    pub data: Value,
}

impl Event {
    /// An event with a name.
    pub fn named(name: &str, data: Value) -> Self {
        Self { name: Some(name.to_owned()), data }
    }
}

/// One service's API.
pub trait Dialect: Sync {
    /// Whether a call is for it.
    fn takes(&self, call: &Call) -> bool;
    /// The answer to a call that is no question to the model (counting tokens, listing models).
    fn small_talk(&self, _call: &Call) -> Option<Value> {
        None
    }
    /// Whether a request is not of the main loop (titles, summaries): answered with a short text, not shown to the script.
    fn is_side(&self, body: &Value) -> bool;
    /// What tells sessions apart.
    fn session(&self, call: &Call, body: &Value) -> String;
    /// Whether the last turn brings the result of a tool.
    fn brings_tool_result(&self, body: &Value) -> bool;
    /// Whether the answer is to be streamed.
    fn streams(&self, call: &Call, body: &Value) -> bool;
    /// An answer as events.
    fn events(&self, body: &Value, id: usize, content: Content<'_>) -> Vec<Event>;
    /// How many events come before the answer is half told.
    fn half(&self) -> usize;
    /// An answer in one piece.
    fn whole(&self, body: &Value, id: usize, content: Content<'_>) -> Value;
    /// The body of an error.
    fn error(&self, status: u16) -> Value;
    /// The body of an error that is sent with these headers, where they matter to it.
    fn refusal(&self, status: u16, _headers: &[(String, String)]) -> Value {
        self.error(status)
    }
    /// The event of a stream that says, in place of content, that the service has too much to do.
    fn overload(&self) -> Event {
        Event::named("error", self.error(529))
    }
}

/// Every API the scripted model speaks.
const ALL: [&dyn Dialect; 4] = [&Messages, &Responses, &Chat, &Gemini];

/// The API a call is for.
pub fn of(call: &Call) -> Option<&'static dyn Dialect> {
    ALL.into_iter().find(|dialect| dialect.takes(call))
}
