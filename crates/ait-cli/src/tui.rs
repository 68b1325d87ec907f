//! `ait tui`: the queue on the whole terminal, with keys that change it.
//!
//! A thin face: a list, the board and an issue look as the commands print them, and each key calls one use case. Of a
//! list, only the issues on the screen are read.

use std::future::pending;
use std::sync::Arc;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::styling::Style;
use crossterm::event::KeyCode;

use super::alt_screen::Screen;
use super::board_view::{self, AGE_EVERY, Board, DEBOUNCE, gone_clients};
use super::issue_view::{words, write_whole};
use super::keyboard::{Input, Keyboard};
use super::options::{agent_name, own_name};
use super::output::{FAINT, STRONG};
use super::sanitize::{self, columns};
use super::signals::{Live, Wake};
use super::styled_line::{Line, wrapped};
use super::{CommandContext, ExitStatus, Output, list, render_short};
use ait_domain::{
    AgentName, ClaimProof, CommentText, Issue, IssueId, Order, Query, QuestionAnswer, Resolution,
};
use ait_query::ParsedQuery;
use ait_tracker::{Changed, Claimant, IndexedIssues, IssueAtVersion, Tracker};

/// What Tab shows, one after the other.
const QUERIES: [&str; 5] = ["is:open", "is:ready", "is:claimed", "is:parked", ""];
/// The lines above and below what is shown.
const FRAME_ROWS: usize = 2;
/// The line with the names of columns.
const HEAD_ROWS: usize = 1;
/// The mark before the selected issue.
const MARK: &str = "> ";
const HINT: &str = "? shows the keys, q ends";
const KEYS: &str = "\
q, Ctrl-C        end
?                show the keys
Esc, left        back to the list
up, down, k, j   select or scroll; also PgUp, PgDn, Home, End, g, G
Enter, right     open the issue
Tab              next list: open, ready, claimed, parked, all
/                list what a query finds, such as: label:ui sort:priority
b                the board: who works on what

On the selected or open issue:
c                claim it
m                comment on it
a                answer its question, with a text or the number of an option
x                close it
X                reject it";

/// The arguments of `ait tui`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "? shows the keys, q ends.\n\nExamples:\n  \
    ait tui\n  \
    ait tui label:ui sort:priority")]
pub struct Arguments {
    /// What to list first: words, and terms such as label:ui [default: is:open]
    #[arg(value_name = "QUERY")]
    query: Vec<String>,

    /// Act as this agent [default: AIT_AGENT, agent in ait.toml, or else your user name]
    #[arg(short, long, value_name = "NAME", value_parser = agent_name)]
    agent: Option<AgentName>,
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let output = context.output;
    let keyboard = Keyboard::open().filter(|_| Screen::is_possible(output));
    let Some(keyboard) = keyboard else {
        bail!("`ait tui` needs a terminal: `ait list`, `ait board` and `ait show` print the same");
    };
    let given = arguments.agent.as_ref().or(context.default_agent);
    let query = arguments.query.join(" ");
    let query = if query.is_empty() { QUERIES[0] } else { &query };
    ParsedQuery::parse(query, context.saved_queries, context.tracker.now())?;
    Tui::new(View::List, query, given, context)?.run(Some(keyboard)).await
}

/// Shows the board with at most `limit` cards for each status, until the user leaves it.
pub(super) async fn watch_board(
    limit: Option<usize>,
    context: &CommandContext<'_>,
) -> Result<ExitStatus> {
    let tui = Tui::new(View::Board, QUERIES[0], context.default_agent, context)?;
    Tui { limit, ends_at_board: true, ..tui }.run(Keyboard::open()).await
}

/// Waits for what happens on the keyboard; for ever without one.
async fn next_input(keyboard: Option<&mut Keyboard>) -> Input {
    match keyboard {
        Some(keyboard) => keyboard.next().await,
        None => pending().await,
    }
}

/// What is shown.
enum View {
    List,
    Board,
    Issue(Arc<Issue>),
    Keys,
}

/// What a typed text is for.
#[derive(Clone, Copy)]
enum Purpose {
    Query,
    Comment,
    Answer,
    End(Resolution),
}

/// A text that is being typed, and the issue that it is for.
struct TypedText {
    purpose: Purpose,
    issue: Option<Arc<Issue>>,
    text: String,
}

struct Tui<'a> {
    context: &'a CommandContext<'a>,
    tracker: Tracker,
    agent: AgentName,
    proof: ClaimProof,
    view: View,
    /// How many cards of a status the board shows; as many as fit without it.
    limit: Option<usize>,
    /// Whether Esc at the board ends the command.
    ends_at_board: bool,
    query: String,
    /// The issues on the screen, how many the list has, those around them, and how many are before them.
    issues: Vec<Arc<Issue>>,
    total: usize,
    is_exact: bool,
    around: IndexedIssues,
    skip: usize,
    row: usize,
    /// The issue of the selected row, which stays selected when others move.
    selected: Option<IssueId>,
    /// The text of the board, an issue or the keys, and its first line on the screen.
    lines: Vec<String>,
    top: usize,
    typed: Option<TypedText>,
    /// What the last key did, or why it did not.
    said: String,
}

impl<'a> Tui<'a> {
    fn new(
        view: View,
        query: &str,
        agent: Option<&AgentName>,
        context: &'a CommandContext<'a>,
    ) -> Result<Self> {
        Ok(Self {
            context,
            tracker: context.tracker.for_claimant(Claimant::Cli),
            agent: own_name(agent)?,
            proof: ClaimProof { number: None, is_forced: false, is_person: agent.is_none() },
            view,
            limit: None,
            ends_at_board: false,
            query: query.to_owned(),
            issues: Vec::new(),
            total: 0,
            is_exact: true,
            around: IndexedIssues::default(),
            skip: 0,
            row: 0,
            selected: None,
            lines: Vec::new(),
            top: 0,
            typed: None,
            said: String::new(),
        })
    }

    async fn run(mut self, mut keyboard: Option<Keyboard>) -> Result<ExitStatus> {
        let mut live = Live::begin()?;
        let mut newest = self.tracker.watch();
        let mut screen = Screen::enter(self.context.output)?;
        let mut is_stale = true;
        loop {
            if is_stale {
                newest.mark_unchanged();
                self.refresh(screen.measured()).await;
            }
            let lines = self.frame(screen.measured());
            screen.draw(&lines)?;
            is_stale = true;
            let wake = tokio::select! {
                input = next_input(keyboard.as_mut()) => {
                    let was_typing = self.typed.is_some();
                    let goes_on = self.take(input, screen.measured()).await;
                    // A key of a text changes only the last line.
                    is_stale = !was_typing || self.typed.is_none();
                    if goes_on { Wake::Time } else { Wake::End }
                }
                wake = live.wait(AGE_EVERY) => wake,
                Ok(()) = newest.changed() => live.wait(DEBOUNCE).await,
            };
            if wake == Wake::End {
                return Ok(ExitStatus::Done);
            }
        }
    }

    /// Returns the issue that keys act on.
    fn issue(&self) -> Option<Arc<Issue>> {
        match &self.view {
            View::List => self.issues.get(self.row).cloned(),
            View::Issue(issue) => Some(Arc::clone(issue)),
            View::Board | View::Keys => None,
        }
    }

    /// Reads what is shown. An error is shown beside what was read before.
    async fn refresh(&mut self, output: &Output) {
        if let Err(error) = self.read(output).await {
            self.said = render_short(&error);
        }
    }

    async fn read(&mut self, output: &Output) -> Result<()> {
        let now = self.tracker.now();
        let (width, height) = size(output);
        match &self.view {
            View::List => self.read_list(height.saturating_sub(FRAME_ROWS + HEAD_ROWS)).await?,
            View::Board => {
                let gone = gone_clients(&self.tracker).await;
                let most = self.limit.unwrap_or(height);
                let board = Board::read(&self.tracker, &gone, most, now).await?;
                let part = output.part(width, height.saturating_sub(1), true);
                self.lines = board_view::lines(&board, now, self.limit, &part);
            }
            View::Issue(issue) => {
                let issue = self.tracker.get_issue(issue.id.into()).await?;
                let around = self.tracker.issues_around([issue.id]).await?;
                let part = output.part(width, height, false);
                let text = part.captured(|part| write_whole(&issue, &around, now, part))?;
                self.lines = text.lines().flat_map(|line| wrapped(line, width)).collect();
                self.view = View::Issue(issue);
            }
            View::Keys => self.lines = KEYS.lines().flat_map(|line| wrapped(line, width)).collect(),
        }
        let last = self.lines.len().saturating_sub(height.saturating_sub(FRAME_ROWS));
        self.top = self.top.min(last);
        Ok(())
    }

    async fn read_list(&mut self, rows: usize) -> Result<()> {
        let now = self.tracker.now();
        let parsed = ParsedQuery::parse(&self.query, self.context.saved_queries, now)?;
        loop {
            let base = Query { order: Order::LatestActivity, ..Query::default() };
            let query = Query { skip: self.skip, take: rows.max(1), ..parsed.narrow(base) };
            let page = self.tracker.list_issues(query).await?;
            self.issues = page.issues;
            self.total = page.total;
            self.is_exact = page.is_exact;
            if !self.issues.is_empty() || self.skip == 0 {
                break;
            }
            // The list has become shorter.
            self.skip = self.total.min(self.skip - 1).saturating_sub(rows);
        }
        let ids = self.issues.iter().map(|issue| issue.id);
        self.around = self.tracker.issues_around(ids).await?;
        let at = |issue: &Arc<Issue>| Some(issue.id) == self.selected;
        let last = self.issues.len().saturating_sub(1);
        self.row = self.issues.iter().position(at).unwrap_or(self.row.min(last));
        self.selected = self.issues.get(self.row).map(|issue| issue.id);
        Ok(())
    }

    /// Does what an input asks for. Returns false if it ends the command.
    async fn take(&mut self, input: Input, output: &Output) -> bool {
        if input == Input::Quit {
            return false;
        }
        if let Some(text) = self.typed.take() {
            self.type_in(text, input).await;
            return true;
        }
        self.said.clear();
        let (_, height) = size(output);
        let rows = isize::try_from(height.saturating_sub(FRAME_ROWS + HEAD_ROWS)).unwrap_or(1);
        let key = if let Input::Key(key) = input { key } else { KeyCode::Null };
        match key {
            KeyCode::Esc if self.ends_at_board && matches!(self.view, View::Board) => return false,
            KeyCode::Char('q') => return false,
            KeyCode::Up | KeyCode::Char('k') => self.step(-1, rows),
            KeyCode::Down | KeyCode::Char('j') => self.step(1, rows),
            KeyCode::PageUp => self.step(-rows, rows),
            KeyCode::PageDown | KeyCode::Char(' ') => self.step(rows, rows),
            KeyCode::Home | KeyCode::Char('g') => self.step(isize::MIN, rows),
            KeyCode::End | KeyCode::Char('G') => self.step(isize::MAX, rows),
            KeyCode::Enter | KeyCode::Right if matches!(self.view, View::List) => {
                match self.issue() {
                    Some(issue) => self.show(View::Issue(issue)),
                    None => self.said = "there is no issue to open".to_owned(),
                }
            }
            KeyCode::Esc | KeyCode::Left | KeyCode::Backspace => self.show(View::List),
            KeyCode::Tab => self.next_list(),
            KeyCode::Char('b') => self.show(View::Board),
            KeyCode::Char('?') => self.show(View::Keys),
            KeyCode::Char('/') => {
                let text = self.query.clone();
                self.typed = Some(TypedText { purpose: Purpose::Query, issue: None, text });
            }
            KeyCode::Char('c') => self.claim().await,
            KeyCode::Char('m') => self.ask(Purpose::Comment),
            KeyCode::Char('a') => self.ask(Purpose::Answer),
            KeyCode::Char('x') => self.ask(Purpose::End(Resolution::Closed)),
            KeyCode::Char('X') => self.ask(Purpose::End(Resolution::Rejected)),
            _ => self.said = format!("that key does nothing here: {HINT}"),
        }
        true
    }

    fn show(&mut self, view: View) {
        self.view = view;
        self.top = 0;
    }

    /// Moves the selection of a list, or scrolls a text.
    fn step(&mut self, by: isize, rows: isize) {
        if !matches!(self.view, View::List) {
            self.top = self.top.saturating_add_signed(by).min(self.lines.len());
            return;
        }
        let last = if self.is_exact || by == isize::MAX { self.total } else { usize::MAX };
        let at = (self.skip + self.row).saturating_add_signed(by).min(last.saturating_sub(1));
        let rows = rows.unsigned_abs().max(1);
        self.skip = self.skip.clamp((at + 1).saturating_sub(rows), at);
        self.row = at - self.skip;
        self.selected = None;
    }

    fn next_list(&mut self) {
        let at = QUERIES.iter().position(|query| *query == self.query);
        let next = at.map_or(0, |at| (at + 1) % QUERIES.len());
        self.list(QUERIES[next].to_owned());
    }

    fn list(&mut self, query: String) {
        self.query = query;
        self.skip = 0;
        self.row = 0;
        self.selected = None;
        self.show(View::List);
    }

    /// Returns the issue that a key acts on, or says that there is none.
    fn target(&mut self) -> Option<Arc<Issue>> {
        let issue = self.issue();
        if issue.is_none() {
            self.said = "select an issue in the list first: Esc leads there".to_owned();
        }
        issue
    }

    /// Begins a text about the issue.
    fn ask(&mut self, purpose: Purpose) {
        let Some(issue) = self.target() else { return };
        if matches!(purpose, Purpose::Answer) && issue.open_question().is_none() {
            self.said = format!("{} has no open question", issue.id.short());
            return;
        }
        self.typed = Some(TypedText { purpose, issue: Some(issue), text: String::new() });
    }

    /// Adds a key to the text, or ends it.
    async fn type_in(&mut self, mut typed: TypedText, input: Input) {
        self.said.clear();
        match input {
            Input::Key(KeyCode::Esc) => {
                self.said = "nothing was changed".to_owned();
                return;
            }
            Input::Key(KeyCode::Enter) => return self.enter(typed).await,
            Input::Key(KeyCode::Backspace) => drop(typed.text.pop()),
            Input::Key(KeyCode::Char(one)) => typed.text.push(one),
            Input::Pasted(text) => {
                let spaced = text.replace(['\r', '\n', '\t'], " ");
                typed.text.extend(spaced.chars().filter(|one| !one.is_control()));
            }
            _ => {}
        }
        self.typed = Some(typed);
    }

    /// Does what a text was typed for. A text that is refused can be corrected.
    async fn enter(&mut self, input: TypedText) {
        let done = match (input.purpose, &input.issue) {
            (Purpose::Query, _) | (_, None) => {
                let now = self.tracker.now();
                match ParsedQuery::parse(&input.text, self.context.saved_queries, now) {
                    Ok(_) => return self.list(input.text),
                    Err(error) => Err(error.into()),
                }
            }
            (purpose, Some(issue)) => self.change(purpose, issue, &input.text).await,
        };
        match done {
            Ok(changed) => self.say(&changed),
            Err(error) => {
                self.said = render_short(&error);
                self.typed = Some(input);
            }
        }
    }

    async fn change(&self, purpose: Purpose, issue: &Issue, text: &str) -> Result<Changed> {
        let agent = self.agent.clone();
        // An answer or an end is meant for the version on the screen.
        let seen = IssueAtVersion { issue: issue.id.into(), version: Some(issue.version()) };
        let comment = || CommentText::try_from(text.trim());
        Ok(match purpose {
            Purpose::Answer => {
                let options = issue.open_question().map_or(0, |question| question.options.len());
                let answer = match text.trim().parse() {
                    Ok(number) if (1..=options).contains(&number) => QuestionAnswer::Option(number),
                    _ => QuestionAnswer::Text(comment()?),
                };
                self.tracker.answer_question(seen, answer, agent).await?
            }
            Purpose::End(resolution) => {
                self.tracker.close_issue(seen, resolution, comment()?, agent, self.proof).await?
            }
            Purpose::Comment | Purpose::Query => {
                self.tracker.comment_issue(issue.id.into(), comment()?, agent).await?
            }
        })
    }

    async fn claim(&mut self) {
        let Some(issue) = self.target() else { return };
        match self.tracker.claim_issue(issue.id.into(), self.agent.clone()).await {
            Ok(changed) => self.say(&changed),
            Err(error) => self.said = render_short(&error.into()),
        }
    }

    fn say(&mut self, changed: &Changed) {
        let issue = &changed.issue;
        let last = issue.history.last().map_or("", |entry| &entry.action);
        self.said = format!("{} is {}: {last}", issue.id.short(), words(issue.status));
    }

    /// Renders the screen.
    fn frame(&self, output: &Output) -> Vec<String> {
        let (width, height) = size(output);
        let body = height.saturating_sub(FRAME_ROWS);
        let mut lines = vec![self.title().fitted(Some(width), output)];
        match &self.view {
            View::List => lines.extend(self.rows(width, height, output)),
            _ => lines.extend(self.lines.iter().skip(self.top).take(body).cloned()),
        }
        lines.resize(height.saturating_sub(1), String::new());
        lines.push(self.last_line(width, output));
        lines
    }

    fn title(&self) -> Line {
        let (name, rest) = match &self.view {
            View::List => {
                let query = if self.query.is_empty() { "all issues" } else { &self.query };
                let first = self.skip + usize::from(!self.issues.is_empty());
                let last = self.skip + self.issues.len();
                let or_more = if self.is_exact { "" } else { " or more" };
                (sanitize::line(query), format!("{first} to {last} of {}{or_more}", self.total))
            }
            View::Board => ("board".to_owned(), String::new()),
            View::Issue(issue) => (issue.id.short(), words(issue.status)),
            View::Keys => ("keys".to_owned(), String::new()),
        };
        let agent = sanitize::line(self.agent.as_str());
        Line::default()
            .part(STRONG, format!("ait  {name}"))
            .text(format!("  {rest}"))
            .part(FAINT, format!("  as {agent}"))
    }

    /// Renders the list, with a mark before the selected issue.
    fn rows(&self, width: usize, height: usize, output: &Output) -> Vec<String> {
        if self.issues.is_empty() {
            return vec!["no issue is found".to_owned()];
        }
        let table = |is_coloured| {
            let part = output.part(width.saturating_sub(MARK.len()), height, is_coloured);
            list::table(&self.issues, &self.around, self.tracker.now(), &part)
        };
        let before = " ".repeat(MARK.len());
        let mut rows: Vec<_> = table(true).iter().map(|row| format!("{before}{row}")).collect();
        let selected = HEAD_ROWS + self.row;
        let marked = format!("{MARK}{}", table(false)[selected]);
        rows[selected] = output.styled(Style::new().invert(), marked);
        rows
    }

    /// Renders the text that is being typed, or what the last key did.
    fn last_line(&self, width: usize, output: &Output) -> String {
        let Some(input) = &self.typed else {
            let said = if self.said.is_empty() { HINT } else { &self.said };
            return Line::default().part(FAINT, sanitize::line(said)).fitted(Some(width), output);
        };
        let id = input.issue.as_ref().map(|issue| issue.id.short()).unwrap_or_default();
        let before = match input.purpose {
            _ if !self.said.is_empty() => format!("{} ", sanitize::line(&self.said)),
            Purpose::Query => "list: ".to_owned(),
            Purpose::Comment => format!("comment on {id}: "),
            Purpose::Answer => format!("answer {id}: "),
            Purpose::End(Resolution::Closed) => format!("close {id}, because: "),
            Purpose::End(Resolution::Rejected) => format!("reject {id}, because: "),
        };
        // The end of a long text is where the next key goes.
        let before = sanitize::cut(&before, width / 2);
        let room = width.saturating_sub(columns(&before) + 1);
        let text = sanitize::line(&input.text);
        let cursor = output.styled(Style::new().invert(), " ");
        format!("{}{}{cursor}", output.styled(STRONG, before), sanitize::end(&text, room))
    }
}

/// Returns the size of the screen.
fn size(output: &Output) -> (usize, usize) {
    (output.width().unwrap_or(80), output.height().unwrap_or(24))
}
