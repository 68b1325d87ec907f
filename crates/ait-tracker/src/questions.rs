//! Questions to people: asking, answering, and the command that tells people of a new question.

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::io::AsyncWriteExt;
use tokio::time::timeout;

use super::{Changed, IssueAtVersion, Tracker};
use ait_domain::event::TRACKER;
use ait_domain::{
    AgentName, ClaimProof, Command, DefaultAnswer, Issue, IssueId, IssueRef, Question,
    QuestionAnswer, Timestamp,
};
use ait_store::{IndexedIssues, StoreError, Subset};
use ait_system::shell::{self, Shell};

/// How long the command may take.
const LIMIT: Duration = Duration::from_secs(5);

/// The shell command that is run for each new question.
#[derive(Clone, Debug)]
pub struct QuestionHook {
    /// The command, for `sh -c`.
    pub command: Arc<str>,
    /// The directory to run it in.
    pub directory: PathBuf,
}

/// An open question, for people and for the command that tells them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenQuestion {
    pub id: IssueId,
    /// The title of the issue.
    pub title: String,
    pub question: String,
    /// The answers to choose from.
    pub options: Vec<String>,
    /// The answer that the tracker gives if no person does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<DefaultAnswer>,
    /// The agent that asked.
    pub agent: String,
    /// The time of the question.
    pub asked_at: Timestamp,
}

impl OpenQuestion {
    /// Returns the open question of an issue, if it has one.
    fn of(issue: &Issue) -> Option<Self> {
        let question = issue.open_question()?.clone();
        let parked = issue.attributes.parked.as_ref()?;
        Some(Self {
            id: issue.id,
            title: issue.title.clone(),
            question: question.text,
            options: question.options,
            default: question.default,
            agent: parked.by.clone(),
            asked_at: parked.since,
        })
    }

    /// Returns the open questions of these issues, the oldest first.
    pub fn all_in(issues: &IndexedIssues) -> Vec<Self> {
        let mut questions: Vec<_> =
            issues.questions().filter_map(|issue| Self::of(&issue)).collect();
        questions.sort_by_key(|question| question.asked_at);
        questions
    }
}

impl Tracker {
    /// Returns the open questions, the oldest first.
    pub async fn questions(&self) -> Result<Vec<OpenQuestion>, StoreError> {
        Ok(OpenQuestion::all_in(&self.store.subset(Subset::Questions).await?.issues))
    }

    /// Returns a tracker that runs a command for each new question.
    pub fn with_question_command(self, on_question: Option<QuestionHook>) -> Self {
        Self { on_question, ..self }
    }

    /// Asks people a question about an open issue. A claim of the issue ends, and it is parked until the answer.
    ///
    /// Returns after the command for new questions has ended.
    pub async fn ask_human(
        &self,
        issue: IssueRef,
        question: Question,
        agent: AgentName,
        proof: ClaimProof,
    ) -> Result<Changed, StoreError> {
        let required_claim = self.requirement_on(&issue, &agent, proof).await?;
        let before = self.now();
        let asked =
            self.change([Command::AskHuman { issue, question, agent, required_claim }]).await?;
        // A repeated question was told of when it was new.
        let parked = &asked.issue.attributes.parked;
        let is_new = parked.as_ref().is_some_and(|parked| parked.since >= before);
        if let Some(on_question) = self.on_question.clone().filter(|_| is_new) {
            let told = tokio::spawn(tell(on_question, Arc::clone(&asked.issue)));
            // The task goes on if the caller is gone.
            let _ended = told.await;
        }
        Ok(asked)
    }

    /// Answers the open question of an issue, and unparks it.
    pub async fn answer_question(
        &self,
        target: IssueAtVersion,
        answer: QuestionAnswer,
        agent: AgentName,
    ) -> Result<Changed, StoreError> {
        self.change(target.into_commands(|issue| Command::AnswerQuestion { issue, answer, agent }))
            .await
    }

    /// Answers the open question of an issue for a person, and claims the issue again for the agent that asked, in one
    /// step: no other agent gets it in between. An agent that may claim nothing more gets the answer alone.
    pub async fn answer_and_claim(
        &self,
        issue: IssueId,
        answer: QuestionAnswer,
        person: AgentName,
        agent: AgentName,
    ) -> Result<Changed, StoreError> {
        let answered = Command::AnswerQuestion { issue: issue.into(), answer, agent: person };
        let claim = self.claim_command(issue.into(), agent).await;
        match self.change([answered.clone(), claim]).await {
            Err(StoreError::Refused(_)) => self.change([answered]).await,
            changed => changed,
        }
    }

    /// Gives the default answers that are due, to at most `limit` questions. Returns true if a question may get one
    /// later.
    pub async fn answer_by_default(&self, limit: usize) -> Result<bool, StoreError> {
        let issues = self.store.subset(Subset::Questions).await?.issues;
        let now = self.now();
        let due = |issue: &Arc<Issue>| Some(issue.open_question()?.default.as_ref()?.at);
        let is_due = |issue: &Arc<Issue>| due(issue).is_some_and(|at| at <= now);
        for issue in issues.questions().filter(is_due).take(limit) {
            let agent = AgentName::try_from(TRACKER).expect("the name of the tracker is valid");
            let issue = issue.id.into();
            let answer = QuestionAnswer::Default;
            let command = Command::AnswerQuestion { issue, answer, agent };
            match self.store.commit(vec![command], now).await {
                // A person or another process has just answered it.
                Ok(_) | Err(StoreError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(issues.questions().any(|issue| due(&issue).is_some()))
    }
}

/// Runs the command with the question as JSON on stdin. Logs failures.
async fn tell(on_question: QuestionHook, issue: Arc<Issue>) {
    let id = issue.id.short();
    let command = &on_question.command;
    match run(&on_question, &issue).await {
        Ok(Some(status)) if status.success() => {}
        Ok(Some(status)) => {
            tracing::warn!("on-question failed for {id} ({status}): {command}");
        }
        Ok(None) => tracing::warn!(
            "on-question was ended for {id}, because it took more than {} seconds: {command}",
            LIMIT.as_secs()
        ),
        Err(error) => tracing::warn!("on-question cannot be run for {id} ({error}): {command}"),
    }
}

/// Runs the command. Returns `None` if it took too long.
async fn run(on_question: &QuestionHook, issue: &Issue) -> io::Result<Option<ExitStatus>> {
    let mut command = shell::command(&on_question.command, &on_question.directory);
    // stdout belongs to the protocol.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut shell = Shell::spawn(command)?;
    let input = serde_json::to_vec(&OpenQuestion::of(issue)).unwrap_or_default();
    let stdin = shell.child.stdin.take();
    let ended = timeout(LIMIT, async {
        if let Some(mut stdin) = stdin {
            // A command need not read its input.
            let _unread = stdin.write_all(&input).await;
        }
        shell.child.wait().await
    });
    match ended.await {
        Ok(status) => status.map(Some),
        Err(_) => Ok(None),
    }
}
