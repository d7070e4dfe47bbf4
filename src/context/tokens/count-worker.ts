import { parentPort } from "node:worker_threads";
import { countTokens } from "gpt-tokenizer/encoding/cl100k_base";
import { textPieces } from "../text-pieces.ts";

// Texts such as <|endoftext|> are not special tokens here.
const asPlainText = { disallowedSpecial: new Set<string>() };

/** Counts the tokens of each text. Runs in a worker because loading the encoding takes a quarter of a second. */
parentPort?.on("message", ({ id, text }: { id: number; text: string }) => {
  let tokens = 0;
  for (const piece of textPieces(text)) tokens += countTokens(piece, asPlainText);
  parentPort?.postMessage({ id, tokens });
});
