import { extname } from "node:path";
import { z } from "zod";

/** File name endings of images that a message may carry. */
const imageEndings = new Set([".png", ".jpg", ".jpeg", ".webp"]);
/** Bytes an image may have. */
const imageLimit = 10 * 1024 * 1024;

/** What a user's message carries beside its words. `size` is in bytes. */
export const Attachment = z
  .object({
    type: z.enum(["image", "file"]),
    path: z.string().min(1).max(4096),
    name: z.string().min(1).max(255),
    mime_type: z.string().max(255).default(""),
    size: z.number().int().nonnegative().default(0),
  })
  .superRefine((attachment, context) => {
    if (attachment.type !== "image") return;
    const { name, size, mime_type } = attachment;
    if (!imageEndings.has(extname(name).toLowerCase())) {
      const message = `an image ends with ${[...imageEndings].join(", ")}, got ${JSON.stringify(name)}`;
      context.addIssue({ code: "custom", path: ["name"], message });
    }
    if (size > imageLimit) {
      const message = `an image has at most ${imageLimit} bytes, got ${size}`;
      context.addIssue({ code: "custom", path: ["size"], message });
    }
    if (mime_type !== "" && !mime_type.startsWith("image/")) {
      const message = `the type of an image begins with image/, got ${JSON.stringify(mime_type)}`;
      context.addIssue({ code: "custom", path: ["mime_type"], message });
    }
  });
export type Attachment = z.infer<typeof Attachment>;

/** Attachments of one message. */
export const Attachments = z.array(Attachment).max(20);

/** Something the user points at, with its whole content: a text, a file, a folder or a place on the web. */
export const Reference = z.object({
  type: z.enum(["text", "file", "folder", "url", "symbol"]),
  source: z.string().max(4096),
  content: z.string().max(1_000_000),
});

/** References of one message. */
export const References = z.array(Reference).max(50);
