//! What the settings say about an agent: the same for every kind.

use super::{
    Access, AgentKind, Launch, LaunchRequest, OutputFormat, Prices, child_environment,
    os_environment,
};

/// An agent of the settings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// Its name in the settings.
    pub name: String,
    /// What it speaks, where that is known.
    pub kind: Option<AgentKind>,
    /// The program and the arguments that come before Ralph's own.
    pub command: Vec<String>,
    /// Its models, cheapest first.
    pub models: Vec<String>,
    /// What they cost.
    pub prices: Prices,
    /// Variables it gets.
    pub env: Vec<(String, String)>,
    /// Whether tools are used without asking. Nobody is there to be asked, so tools are else denied.
    pub skip_permissions: bool,
    /// Arguments added after Ralph's own.
    pub args: Vec<String>,
    /// What the standard output of a plain command is.
    pub output: OutputFormat,
}

impl Setup {
    /// The model to name to the program: none where it chooses by its own settings, because the agent's own name stands for
    /// one.
    pub(super) fn named<'m>(&self, model: &'m str) -> Option<&'m str> {
        let is_the_agent = self.models.is_empty() && model == self.name;
        (!model.is_empty() && !is_the_agent).then_some(model)
    }

    /// The process of one session: the settings' program with what Ralph adds. Variables that the settings state win over
    /// `env`, and those of the attempt over both.
    pub(super) fn launch(
        &self,
        args: Vec<String>,
        env: &[(String, String)],
        stdin: String,
        request: &LaunchRequest<'_>,
    ) -> Launch {
        let mut words = self.command.iter().cloned();
        let program = words.next().unwrap_or_default();
        let args = words.chain(args).collect();
        let mut env = os_environment(env);
        env.extend(os_environment(&self.env));
        env.extend(child_environment(request));
        Launch {
            program,
            args,
            env,
            cwd: request.work_tree.to_owned(),
            stdin,
            access: Access::default(),
        }
    }
}
