/** Nodes of the tree of a Markdown text that only mark where something begins or ends. */
export const marks = new Set([
  "EmphasisMark",
  "CodeMark",
  "LinkMark",
  "QuoteMark",
  "ListMark",
  "HeaderMark",
  "StrikethroughMark",
  "TableDelimiter",
  "CodeInfo",
  "LinkTitle",
  "TaskMarker",
  "LinkReference",
]);
