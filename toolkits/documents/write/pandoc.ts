import { constants } from "node:fs";
import { access, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { startCommand } from "../../../src/tools/programs/run-command.ts";
import { searchPath } from "../../../src/tools/programs/sandbox.ts";
import type { Syntax } from "../formats/document-thread.ts";
import { isOwnPicture } from "./without-pictures.ts";

/** Time limit of pandoc per document, in milliseconds. */
const patience = 15_000;

const readers: Record<Syntax, string> = {
  html: "html+tex_math_dollars",
  markdown: "gfm+tex_math_dollars+footnotes",
};

/** pandoc's document tree of lists and nodes. */
const Tree = z.looseObject({ blocks: z.array(z.unknown()) });
const Picture = z.object({
  t: z.literal("Image"),
  c: z.tuple([z.unknown(), z.array(z.unknown()), z.tuple([z.string()], z.unknown())]),
});
const noAttributes = ["", [], []];

/** The path of pandoc; `undefined` if not installed. */
export async function findPandoc(): Promise<string | undefined> {
  for (const folder of searchPath().split(":")) {
    const program = join(folder, "pandoc");
    const isThere = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return program;
  }
  return undefined;
}

/**
 * Converts HTML or Markdown to a Word document with pandoc: without a shell, without our environment, in a temporary
 * folder. It parses in its own sandbox; pictures and raw parts are removed before writing, so that nothing is fetched.
 * `undefined` on failure or timeout. Throws the signal's reason.
 */
export async function pandocFile(
  program: string,
  content: string,
  syntax: Syntax,
  signal: AbortSignal,
  within = patience,
): Promise<{ file: Uint8Array; pictures: number } | undefined> {
  signal.throwIfAborted();
  const folder = await mkdtemp(join(tmpdir(), "millrace-document-"));
  try {
    await writeFile(join(folder, "text"), content);
    const reading = ["--sandbox", `--from=${readers[syntax]}`, "--to=json", "--output=read.json", "text"];
    const limit = AbortSignal.any([signal, AbortSignal.timeout(within)]);
    if (!(await runs(program, reading, folder, limit))) return undefined;
    const plain = withoutFetching(await readFile(join(folder, "read.json"), "utf8"));
    await writeFile(join(folder, "plain.json"), plain.json);
    const writing = ["--from=json", "--to=docx", "--output=made.docx", "plain.json"];
    if (!(await runs(program, writing, folder, limit))) return undefined;
    return { file: await readFile(join(folder, "made.docx")), pictures: plain.pictures };
  } catch (error) {
    signal.throwIfAborted();
    // Missing or invalid output: the library takes over.
    if (error instanceof Error) return undefined;
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runs(program: string, given: string[], folder: string, signal: AbortSignal): Promise<boolean> {
  const running = await startCommand({ words: [program, ...given], workspace: folder, sandbox: undefined, hidden: [] });
  const stop = (): void => running.stop();
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) stop();
    const end = await running.ended;
    signal.throwIfAborted();
    return end.kind === "exited" && end.code === 0;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** The tree with alternative texts instead of external pictures, and without raw parts. */
function withoutFetching(json: string): { json: string; pictures: number } {
  let pictures = 0;
  const tree = Tree.parse(JSON.parse(json));
  const plain = JSON.stringify(tree, (_, value: unknown) => {
    const kind = kindOf(value);
    const picture = kind === "Image" ? Picture.parse(value) : undefined;
    if (picture !== undefined && !isOwnPicture(picture.c[2][0])) {
      pictures += 1;
      const words = picture.c[1];
      return {
        t: "Span",
        c: [noAttributes, words.length === 0 ? [] : [{ t: "Str", c: "[" }, ...words, { t: "Str", c: "]" }]],
      };
    }
    if (kind === "RawInline") return { t: "Str", c: "" };
    return kind === "RawBlock" ? { t: "Plain", c: [] } : value;
  });
  return { json: plain, pictures };
}

function kindOf(value: unknown): unknown {
  return typeof value === "object" && value !== null && "t" in value ? value.t : undefined;
}
