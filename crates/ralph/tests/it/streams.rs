//! Agents that are shell scripts and print the events of a real program: what they cost, what limits they meet.

use crate::support::Project;

/// The signal of a done task inside a JSON string.
pub const DONE_TEXT: &str = "<task-done>'$RALPH_TASK_ID'</task-done>";

/// Prints the end of a session that cost so much and said this.
pub fn said(cost: f64, text: &str) -> String {
    format!(
        "echo '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"{text}\",\
         \"total_cost_usd\":{cost},\"session_id\":\"s-1\"}}'"
    )
}

/// Prints a session that ended done and cost so much.
pub fn done(cost: f64) -> String {
    said(cost, DONE_TEXT)
}

/// Prints an error of the service with this status; exits 1.
pub fn error(status: u16) -> String {
    format!(
        "echo '{{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"API Error: {status}\",\
         \"api_error_status\":{status},\"terminal_reason\":\"api_error\",\"session_id\":\"s-1\"}}'; exit 1"
    )
}

/// Prints a usage limit that ends so many seconds from now, and with it the session.
pub fn limit(seconds: u32) -> String {
    format!(
        "echo '{{\"type\":\"rate_limit_event\",\"rate_limit_info\":{{\"status\":\"rejected\",\
         \"resetsAt\":'$(( $(date +%s) + {seconds} ))',\"rateLimitType\":\"five_hour\"}}}}'; {}",
        error(429)
    )
}

/// Adds an agent that speaks as Claude Code does; the first one is the project's own.
pub fn speaker(project: &Project, name: &str, script: &str) {
    let file = format!("{name}.sh");
    project.write(&file, &format!("cat > /dev/null\n{script}\n"));
    project.configure(&format!(
        "[agents.{name}]\nkind = \"command\"\noutput = \"claude\"\ncommand = [\"sh\", {file:?}]"
    ));
}

/// A project whose one agent is `main`, with further lines under `[run]`.
pub fn project(script: &str, run: &str) -> Project {
    let project = Project::empty();
    project.write(".ralph.toml", &format!("[run]\nagent = \"main\"\n{run}\n"));
    project.ok(&["init"]);
    speaker(&project, "main", script);
    project
}

/// The agents of all tries, in order, each with its outcome: `main error rate_limit`.
pub fn tries(project: &Project) -> Vec<String> {
    let word = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    project
        .history()
        .iter()
        .map(|one| {
            let words = [&one["agent"], &one["outcome"], &one["error_type"]].map(word);
            words.join(" ").trim_end().to_owned()
        })
        .collect()
}
