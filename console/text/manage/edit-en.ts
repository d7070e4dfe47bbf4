/** The words of places where texts are written and saved, in English. */
export const editEn = {
  edit: {
    changedMeanwhile: "It has changed elsewhere since you began to write. What you have written is still here.",
    goneMeanwhile: "It has been deleted elsewhere since you began to write. What you have written is still here.",
    bothTexts: "− is what is there now, + is what you have written:",
    sameTexts: "What is there now is the same text.",
    saveOver: "Save mine over it",
    takeTheirs: "Take what is there now",
    letGo: "Let mine go",
    edit: "Edit",
    close: "Stop editing",
    saved: "Saved",
    delete: "Delete",
    text: "Text of {{name}}",
    tooLarge: "It is too large to be edited here.",
  },
} as const;
