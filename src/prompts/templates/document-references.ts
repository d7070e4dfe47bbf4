import { defineTemplate } from "../template.ts";

/** The user's references, in full. */
export const documentReferences = defineTemplate({
  name: "document_references",
  title: { en: "References", zh: "引用内容" },
  description: "Stands before the content that the user refers to.",
  required: ["references"],
  content: [
    "The user refers to the following. It is given here in full, so there is no need to read it again.",
    "",
    "{references}",
  ].join("\n"),
});

/** The list that the template is filled with: each reference with its number, kind and source. */
export function referencesText(references: readonly { kind: string; source: string; content: string }[]): string {
  return references
    .map(({ kind, source, content }, index) => `Reference ${index + 1}: ${kind} (source: ${source})\n${content}`)
    .join("\n\n");
}
