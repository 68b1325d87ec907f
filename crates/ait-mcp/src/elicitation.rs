//! Questions to the person at a client: elicitation.

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest,
};
use serde_json::{Value, json};

use ait_domain::{CommentText, Issue, Question, QuestionAnswer};

/// The fields of the form.
const OPTION: &str = "option";
const ANSWER: &str = "answer";

/// Returns the request to show the form of a question. A person may answer otherwise than by an option.
pub(super) fn request(issue: &Issue, question: &Question, agent: &str) -> InputRequest {
    let mut message = format!(
        "{agent} asks about issue {} ({}): {}",
        issue.id.short(),
        issue.title,
        question.text
    );
    let mut answer = json!({ "type": "string", "title": "Answer" });
    if let Some(default) = &question.default {
        message += &format!("\n\n({default})");
    }
    let schema = if question.options.is_empty() {
        json!({ "type": "object", "properties": { ANSWER: answer }, "required": [ANSWER] })
    } else {
        answer["title"] = "Another answer".into();
        let option = json!({ "type": "string", "title": "Option", "enum": question.options });
        json!({ "type": "object", "properties": { OPTION: option, ANSWER: answer } })
    };
    let schema: ElicitationSchema =
        serde_json::from_value(schema).expect("the schema of the form is valid");
    InputRequest::Elicitation(ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: schema,
    }))
}

/// Returns the answer of a person who filled the form in.
pub(super) fn answer(result: &ElicitResult, question: &Question) -> Option<QuestionAnswer> {
    let content = result.content.as_ref();
    let content = content.filter(|_| result.action == ElicitationAction::Accept)?;
    let field = |name: &str| content.get(name).and_then(Value::as_str).map(str::trim);
    if let Some(text) = field(ANSWER).and_then(|text| CommentText::try_from(text).ok()) {
        return Some(QuestionAnswer::Text(text));
    }
    let chosen = field(OPTION)?;
    let position = question.options.iter().position(|option| option == chosen)?;
    Some(QuestionAnswer::Option(position + 1))
}
