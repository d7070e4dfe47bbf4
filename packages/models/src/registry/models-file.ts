import { join } from "node:path";
import { parseDocument, type Document } from "yaml";
import { AppError } from "@millrace/engine/errors/errors";
import { maxOverrideFileBytes, OverrideFile, type WarnOfFile } from "@millrace/engine/config/override-file";
import { noSettings, readModelSettings, type ModelSettings } from "./model-settings.ts";

/** The file's name in the data folder, out of tools' reach: it decides where keys are sent. */
export const modelsFileName = "models.yaml";

/**
 * A data folder's models file. Edits apply from the next use on; while the file is broken the last valid state applies,
 * and `problem` names the lines. Programs change the same file atomically, keeping comments.
 */
export class ModelsFile {
  readonly #file: OverrideFile<ModelSettings>;
  readonly #readRaw: OverrideFile<string>;
  #lastGood: ModelSettings = noSettings;

  constructor(dataDir: string, warn: WarnOfFile) {
    const path = join(dataDir, modelsFileName);
    this.#file = new OverrideFile(path, readModelSettings, warn);
    this.#readRaw = new OverrideFile(path, (text) => ({ value: text }), warn);
  }

  /** The settings in effect: the same object until the file changes. */
  settings(): ModelSettings {
    const found = this.#file.read();
    if (found.kind === "value") this.#lastGood = found.value;
    if (found.kind === "none") this.#lastGood = noSettings;
    return this.#lastGood;
  }

  /** The file's problem, with line numbers. */
  problem(): string | undefined {
    const found = this.#file.read();
    return found.kind === "unusable" ? found.problem : undefined;
  }

  /**
   * Sets values by path; `undefined` removes one. Throws, changing nothing, `conflict` while the file is broken,
   * `invalid_parameter` if the result would be invalid, `too_large`, and what `OverrideFile.write` throws.
   */
  change(changes: readonly { path: readonly string[]; value: unknown }[]): void {
    const problem = this.problem();
    if (problem !== undefined) {
      throw new AppError("conflict", `The file ${modelsFileName} is broken and is not overwritten: ${problem}.`, {
        suggestion: "Mend or remove it in the data folder, then try again.",
      });
    }
    const raw = this.#readRaw.read();
    const document = parseDocument(raw.kind === "value" ? raw.value : "");
    for (const { path, value } of changes) setIn(document, path, value);
    const text = document.toString();
    const read = readModelSettings(text);
    if ("problem" in read) {
      throw new AppError("invalid_parameter", `That cannot be: ${read.problem.replaceAll(/line \d+: /gu, "")}.`, {
        suggestion: "docs/assistant/providers.md describes every field.",
      });
    }
    if (Buffer.byteLength(text) > maxOverrideFileBytes) {
      throw new AppError(
        "too_large",
        `The file ${modelsFileName} would have more than ${maxOverrideFileBytes} bytes.`,
        {
          suggestion: "Remove what is not used any more, or say it for many models with one row: provider:beginning*.",
        },
      );
    }
    this.#file.write(text);
    this.#readRaw.forget();
  }
}

/** An empty section is removed with its last value, so that a file without content is empty. */
function setIn(document: Document, path: readonly string[], value: unknown): void {
  if (document.contents === null) document.contents = document.createNode({}) as never;
  if (value !== undefined) {
    document.setIn(path, value);
    return;
  }
  if (document.hasIn(path)) document.deleteIn(path);
}
