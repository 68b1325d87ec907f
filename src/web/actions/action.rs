//! What people can do on the pages.

/// An action. Its word is part of the address of its form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::web) enum Action {
    /// Answer the open question.
    Answer,
    /// Add a comment.
    Comment,
    /// Set priority, labels and assignee.
    Attributes,
    /// Keep the issue from being claimed.
    Park,
    /// Let it be claimed again.
    Unpark,
    /// Return it to the queue, which ends its claim.
    Return,
    /// Close or reject it, for good.
    Close,
    /// File another issue.
    File,
}

impl Action {
    /// All actions.
    const ALL: [Self; 8] = [
        Self::Answer,
        Self::Comment,
        Self::Attributes,
        Self::Park,
        Self::Unpark,
        Self::Return,
        Self::Close,
        Self::File,
    ];

    /// Returns the word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Comment => "comment",
            Self::Attributes => "attributes",
            Self::Park => "park",
            Self::Unpark => "unpark",
            Self::Return => "return",
            Self::Close => "close",
            Self::File => "file",
        }
    }

    /// Returns the action with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.as_str() == word)
    }
}
