import { parentPort } from "node:worker_threads";
import { countTokens, setMergeCacheSize } from "gpt-tokenizer/encoding/cl100k_base";
import { textPieces } from "../text-pieces.ts";

// Texts such as <|endoftext|> are not special tokens here.
const asPlainText = { disallowedSpecial: new Set<string>() };

// The cache drops its oldest entry by looking for it from the front, which costs more than it saves when the cache is
// large: with the default of 100,000 a third megabyte of base64 took five times as long as the first.
setMergeCacheSize(1_000);

/** Counts the tokens of each text. Runs in a worker because loading the encoding takes a quarter of a second. */
parentPort?.on("message", ({ id, text }: { id: number; text: string }) => {
  let tokens = 0;
  for (const piece of textPieces(text)) tokens += countTokens(piece, asPlainText);
  parentPort?.postMessage({ id, tokens });
});
