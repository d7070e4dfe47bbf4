import { defineTemplate } from "../template.ts";

/** Files that come with the user's message: where they are, since their content is not in the message. */
export const attachments = defineTemplate({
  name: "attachments",
  title: { en: "Attachments", zh: "附件" },
  description: "Names the files that the user has attached to the message.",
  required: ["attachments"],
  content: [
    "The user has attached the following files to the message. What you need of them and is not in the message can be read there.",
    "",
    "{attachments}",
  ].join("\n"),
});

/** The list that the template is filled with: each file with its number, name, kind, size in bytes and place. */
export function attachmentsText(
  attached: readonly { type: string; name: string; path: string; mime_type: string; size: number }[],
): string {
  return attached
    .map(({ type, name, path, mime_type, size }, index) => {
      const about = [type, mime_type, size === 0 ? "" : `${size} bytes`, `path: ${path}`];
      return `Attachment ${index + 1}: ${name} (${about.filter((part) => part !== "").join(", ")})`;
    })
    .join("\n");
}
