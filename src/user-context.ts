import { z } from "zod";

/** The user's editor; the model sees only the given fields. Paths are not opened. */
export const EditorDocument = z.object({
  path: z.string().max(3000).optional(),
  /** The text of the document, or its beginning; the model is shown some 1,000 characters. */
  preview: z.string().max(200_000).optional(),
  /** The whole text as the editor has it; only with it can the assistant change the document. */
  content: z.string().max(1_000_000).optional(),
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

/** Something that the user refers to, with its whole content. */
export const UserReference = z.object({
  type: z.string().min(1).max(50).describe("text, file, folder, …"),
  source: z.string().max(3000),
  content: z.string().max(500_000),
});
export type UserReference = z.infer<typeof UserReference>;

const share = z.number().min(0).max(1);

/**
 * How sources share the model's window; the history gets the unused rest. The sum is at most 1. `rag` is for search
 * results.
 */
export const ContextShares = z
  .object({
    system: share.default(0.05),
    diagnostics: share.default(0.1),
    implicit: share.default(0.15),
    dependencies: share.default(0.1),
    summary: share.default(0.05),
    rag: share.default(0.15),
    history: share.default(0.2),
    user_files: share.default(0.1),
    web_search: share.default(0.1),
  })
  .refine((shares) => Object.values(shares).reduce((sum, one) => sum + one, 0) <= 1 + 1e-9, {
    error: "The shares are more than 1 together; make others smaller.",
  });
export type ContextShares = z.infer<typeof ContextShares>;

/** A tool that the client runs: the model may call it, and the run waits for the client's result. */
export const ClientTool = z.object({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/u, { error: "expected 1 to 64 letters, digits, _ or -" }),
  description: z.string().max(10_000).optional(),
  /** JSON Schema of an object; left out, it takes no arguments. */
  parameters: z.record(z.string(), z.unknown()).optional(),
});
export type ClientTool = z.infer<typeof ClientTool>;

/** What accompanies a request besides its text. */
export const UserContext = z.object({
  /** The editor's state. */
  document: EditorDocument.optional(),
  /** The user's references; never shortened. */
  references: z.array(UserReference).max(50).optional(),
  /** The client's tools, offered besides the server's. */
  client_tools: z.array(ClientTool).max(128).optional(),
  /** How context sources share the model's window. */
  context_shares: ContextShares.optional(),
});
