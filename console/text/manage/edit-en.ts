/** The words of places where texts are written and saved, in English. */
export const editEn = {
  edit: {
    changedMeanwhile: "This was changed elsewhere since you started editing. Your text is still here.",
    goneMeanwhile: "This was deleted elsewhere since you started editing. Your text is still here.",
    bothTexts: "− is the other version, + is yours:",
    sameTexts: "The other version has the same text.",
    saveOver: "Overwrite with mine",
    takeTheirs: "Use the other version",
    discardMine: "Discard mine",
    unsavedHint: "Your changes have not been saved and cannot be recovered.",
    edit: "Edit",
    close: "Stop editing",
    saved: "Saved",
    delete: "Delete",
    text: "Text of {{name}}",
    tooLarge: "It is too large to edit here.",
  },
} as const;
