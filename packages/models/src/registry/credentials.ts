import { statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { OverrideFile, type WarnOfFile } from "@millrace/engine/config/override-file";

/** Only the server's own user may read or write the file. */
const onlyOwner = 0o600;
const Keys = z.record(z.string(), z.string().min(1));

/**
 * Keys by name in `credentials.json` of the data folder, out of tools' reach. A file readable by others is refused with
 * an error, since its keys may be known to them. Keys can be written but never shown.
 */
export class Credentials {
  readonly #file: OverrideFile<Readonly<Record<string, string>>>;

  constructor(dataDir: string, warn: WarnOfFile) {
    const path = join(dataDir, "credentials.json");
    this.#file = new OverrideFile(path, (text) => readKeys(path, text), warn);
  }

  /** All keys; the same object until the file changes. */
  all(): Readonly<Record<string, string>> {
    const found = this.#file.read();
    return found.kind === "value" ? found.value : none;
  }

  /** Why the file is refused; contains none of its content. */
  problem(): string | undefined {
    const found = this.#file.read();
    return found.kind === "unusable" ? found.problem : undefined;
  }

  /** Stores a key; `undefined` deletes it. Throws `conflict` while the file is refused. */
  set(name: string, key: string | undefined): void {
    const problem = this.problem();
    if (problem !== undefined) {
      throw new AppError("conflict", `The file of keys is not used: ${problem}.`, {
        suggestion: "Mend or remove credentials.json in the data folder, then try again.",
      });
    }
    const others = Object.entries(this.all()).filter(([other]) => other !== name);
    const entries = key === undefined ? others : [...others, [name, key]];
    this.#file.write(`${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`, onlyOwner);
  }
}

const none: Readonly<Record<string, string>> = {};

function readKeys(path: string, text: string): { value: Record<string, string> } | { problem: string } {
  // Windows has no such permissions; its files seem readable by everyone.
  const isOpen = process.platform !== "win32" && (statSync(path).mode & 0o077) !== 0;
  if (isOpen) return { problem: "others may read or write it; chmod it to 600, and change the keys in it" };
  try {
    const parsed = Keys.safeParse(JSON.parse(text));
    if (parsed.success) return { value: parsed.data };
  } catch {
    // The parser's message would repeat the text, which contains keys.
  }
  return { problem: 'it has to hold {"NAME_API_KEY": "key"}' };
}

/** The visible part of a key: its last four characters, if it is long enough. */
export function masked(key: string): string {
  return key.length >= 20 ? `…${key.slice(-4)}` : "…";
}
