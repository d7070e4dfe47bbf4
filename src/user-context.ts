import { z } from "zod";

/** What the user's editor shows (CTX-06); whatever is missing is not spoken of. Paths are for the model to read. */
export const EditorDocument = z.object({
  path: z.string().max(3000).optional(),
  /** The text of the document, or its beginning; the model is shown some 1,000 characters. */
  preview: z.string().max(200_000).optional(),
  selected_text: z.string().max(100_000).optional(),
  workspace_path: z.string().max(3000).optional(),
  editor: z
    .object({
      editable: z.boolean().optional(),
      type: z.string().max(100).optional(),
      /** Bytes. */
      size: z.number().nonnegative().optional(),
      saved: z.boolean().optional(),
    })
    .optional(),
  unsaved_changes: z.boolean().optional(),
});
export type EditorDocument = z.infer<typeof EditorDocument>;

/** Something that the user refers to, with its whole content (MSG-09). */
export const UserReference = z.object({
  type: z.string().min(1).max(50).describe("text, file, folder, …"),
  source: z.string().max(3000),
  content: z.string().max(500_000),
});
export type UserReference = z.infer<typeof UserReference>;

/** What a request brings with it besides its words. */
export const UserContext = z.object({
  /** What the editor shows. */
  document: EditorDocument.optional(),
  /** What the user refers to; never shortened. */
  references: z.array(UserReference).max(50).optional(),
});
