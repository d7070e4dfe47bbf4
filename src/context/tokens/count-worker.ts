import { parentPort } from "node:worker_threads";
import { countTokens } from "gpt-tokenizer/encoding/cl100k_base";
import { textPieces } from "../text-pieces.ts";

// Words such as <|endoftext|> are plain text here, not marks.
const asPlainText = { disallowedSpecial: new Set<string>() };

/** Answers each text with the number of its tokens. Loading the encoding takes a quarter of a second, so it is done here. */
parentPort?.on("message", ({ id, text }: { id: number; text: string }) => {
  let tokens = 0;
  for (const piece of textPieces(text)) tokens += countTokens(piece, asPlainText);
  parentPort?.postMessage({ id, tokens });
});
