//! The MCP request handler: one session with one agent.
//!
//! Does not know how a tool is implemented.

use crate::prompts::PROMPTS;
use crate::tools::list_tools;
use api::code_error::CodeError;
use api::tools::rewrite_for_agents;
use api::{CallContext, Code, Envelope, Progress, Set, ToolHandler, tool_named};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, ContentBlock, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProgressToken, Prompt, PromptArgument, PromptMessage,
    RequestMetaObject, Role, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::Semaphore;

#[derive(Clone)]
pub(crate) struct Server {
    handler: Arc<dyn ToolHandler>,
    tools: Arc<Vec<Tool>>,
    /// Limits concurrent calls; further ones wait.
    call_slots: Arc<Semaphore>,
}

const MAX_CONCURRENT_CALLS: usize = 16;
/// The methods we implement that take parameters, to tell wrong parameters from an unknown method.
const METHODS_WITH_PARAMS: &[&str] =
    &["initialize", "tools/list", "tools/call", "prompts/list", "prompts/get", "completion/complete"];
/// Interval of progress notifications.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

impl Server {
    pub(crate) fn new(handler: Arc<dyn ToolHandler>, sets: &[Set]) -> Server {
        Server {
            handler,
            tools: Arc::new(list_tools(sets)),
            call_slots: Arc::new(Semaphore::new(MAX_CONCURRENT_CALLS)),
        }
    }

    /// Runs the call on a blocking thread: handlers block.
    async fn run_call(
        &self,
        tool: &'static api::Tool,
        params: Map<String, Value>,
        context: CallContext,
    ) -> Result<Envelope, api::Error> {
        let _permit = self.call_slots.acquire().await;
        let handler = self.handler.clone();
        let answered = tokio::task::spawn_blocking(move || handler.call(tool, params, &context)).await;
        answered
            .unwrap_or_else(|_| Err(api::Error::new(Code::InternalError, format!("{} crashed", tool.name))))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_prompts().enable_completions().build();
        let mut info = ServerConfig::new(capabilities).with_instructions(include_str!("instructions.md"));
        info.server_info = Implementation::new("loci", env!("CARGO_PKG_VERSION"));
        info.server_info.title = Some("Loci".to_string());
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let listed = api::replacement_of(&request.name).unwrap_or(&request.name);
        let tool = tool_named(&request.name).filter(|_| self.get_tool(listed).is_some());
        let tool = tool.ok_or_else(|| {
            ErrorData::invalid_params(format!("unknown tool `{}`", printable_name(&request.name)), None)
        })?;
        let progress = Arc::new(Progress::default());
        let caller = CallContext { session: session_of(&context.meta), progress: progress.clone() };
        let call = self.run_call(tool, request.arguments.unwrap_or_default(), caller);
        let reports = send_progress(context.peer, context.meta.get_progress_token(), progress.clone());
        let result = tokio::select! {
            result = call => result.map_err(|error| error.with_progress(&progress)),
            () = context.ct.cancelled() => {
                progress.cancel();
                Err(api::Error::new(Code::Cancelled, "cancelled"))
            }
            () = reports => unreachable!("progress never ends by itself"),
        };
        Ok(CallToolResponse::Complete(match &result {
            Ok(envelope) => tool_result(envelope),
            Err(error) => tool_error(tool, error),
        }))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(PROMPTS.iter().map(describe_prompt).collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompt = PROMPTS.iter().find(|prompt| prompt.name == request.name).ok_or_else(|| {
            ErrorData::invalid_params(format!("unknown prompt `{}`", printable_name(&request.name)), None)
        })?;
        let arguments = request.arguments.unwrap_or_default();
        let argument = prompt.argument.as_ref().and_then(|argument| arguments.get(argument.name)?.as_str());
        let text = prompt.fill_template(argument).ok_or_else(|| {
            let name = prompt.argument.as_ref().map_or("", |argument| argument.name);
            ErrorData::invalid_params(format!("missing argument `{name}`"), None)
        })?;
        let message = PromptMessage::new_text(Role::User, text);
        Ok(GetPromptResult::new(vec![message]).with_description(prompt.about).into())
    }

    /// The SDK passes on what it could not parse: an unknown method, or a known one with invalid parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = printable_name(&request.method);
        Err(if METHODS_WITH_PARAMS.contains(&request.method.as_str()) {
            ErrorData::invalid_params(format!("invalid parameters for {method}"), None)
        } else {
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("unknown method `{method}`"), None)
        })
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let mut values = Vec::new();
        if request.argument.name == "session" {
            let handler = self.handler.clone();
            let ids = tokio::task::spawn_blocking(move || handler.session_ids(&request.argument.value)).await;
            values = ids.unwrap_or_default();
        }
        values.truncate(CompletionInfo::MAX_VALUES);
        let info = CompletionInfo::with_all_values(values).map_err(|e| ErrorData::internal_error(e, None))?;
        Ok(CompleteResult::new(info))
    }
}

/// Sends progress notifications if the agent asked for them. Never ends by itself.
async fn send_progress(peer: Peer<RoleServer>, token: Option<ProgressToken>, progress: Arc<Progress>) {
    let Some(token) = token else { return std::future::pending().await };
    let mut reported = 0;
    loop {
        tokio::time::sleep(PROGRESS_INTERVAL).await;
        let (files, of) = (progress.files.load(Relaxed), progress.of.load(Relaxed));
        if files > reported {
            reported = files;
            let mut notice = ProgressNotificationParam::new(token.clone(), files as f64);
            // `files` counts over the whole call, `of` only over the current step.
            notice.total = (of >= files).then_some(of as f64);
            notice.message = Some("reading files".to_string());
            let _ = peer.notify_progress(notice).await;
        }
    }
}

/// Contains the envelope twice: older clients read the text, newer ones the structured content.
fn tool_result(envelope: &Envelope) -> CallToolResult {
    let value = serde_json::to_value(envelope).unwrap_or_default();
    let mut result = CallToolResult::success(vec![ContentBlock::text(value.to_string())]);
    result.structured_content = Some(value);
    result
}

/// An error that the model can read and act on.
fn tool_error(tool: &api::Tool, error: &api::Error) -> CallToolResult {
    let is_about_code = tool.operation().is_some_and(api::Operation::is_about_code);
    let mut error = error.clone();
    error.hints = error.hints.iter().map(|hint| rewrite_for_agents(hint)).collect();
    let shown = if is_about_code {
        error = error.with_trace();
        json!(CodeError::new(&error))
    } else {
        json!(error.message)
    };
    let error = json!({"status": "error", "error": shown, "code": error.code.word(), "hints": error.hints});
    CallToolResult::error(vec![ContentBlock::text(error.to_string())])
}

fn describe_prompt(prompt: &crate::Prompt) -> Prompt {
    let argument = prompt.argument.as_ref().map(|argument| {
        vec![
            PromptArgument::new(argument.name)
                .with_description(argument.about)
                .with_required(argument.required),
        ]
    });
    Prompt::new(prompt.name, Some(prompt.about), argument)
}

/// The session a client calls from. Codex sends two: its history has a separate thread for each subagent, so the thread is our
/// session; what Codex calls the session is the thread that started them all.
fn session_of(meta: &RequestMetaObject) -> Option<String> {
    let turn = meta.get("x-codex-turn-metadata");
    let inside = |name: &str| turn.and_then(|turn| turn.get(name));
    let named = inside("thread_id").or_else(|| meta.get("threadId")).or_else(|| inside("session_id"));
    named.and_then(Value::as_str).map(str::to_string)
}

fn printable_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_is_found_under_each_client_s_own_name() {
        let sub = json!({"session_id": "root", "thread_id": "own", "parent_thread_id": "root"});
        let cases = [
            (json!({"x-codex-turn-metadata": sub, "threadId": "own", "sessionId": "root"}), Some("own")),
            (json!({"threadId": "own", "progressToken": 1}), Some("own")),
            (json!({"x-codex-turn-metadata": {"session_id": "root"}}), Some("root")),
            (json!({"claudecode/toolUseId": "toolu_1", "progressToken": 2}), None),
            (json!({"threadId": 5}), None),
        ];
        for (meta, session) in cases {
            let read: RequestMetaObject = serde_json::from_value(meta.clone()).unwrap();
            assert_eq!(session_of(&read).as_deref(), session, "{meta}");
        }
    }

    #[test]
    fn an_error_of_a_tool_about_code_is_an_object() {
        let error = api::Error::new(Code::InternalError, "crashed").hint("loci code outline Node");
        let shown = |tool: &str| -> Value {
            let result = serde_json::to_value(tool_error(tool_named(tool).unwrap(), &error)).unwrap();
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap()
        };
        assert_eq!(shown("list_sessions")["error"], "crashed");
        let about_code = shown("get_outline");
        let object = &about_code["error"];
        assert_eq!(
            (&about_code["code"], &object["code"]),
            (&json!("INTERNAL_ERROR"), &json!("InternalError"))
        );
        let (message, trace) = (object["message"].as_str().unwrap(), object["traceId"].as_str().unwrap());
        assert_eq!(message, format!("crashed (trace {trace})"));
        assert_eq!(
            (&object["suggestions"], about_code["status"].as_str()),
            (&about_code["hints"], Some("error"))
        );
    }
}
