import { spawn, type ChildProcess } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { programEnvironment } from "./program.ts";
import { projectFolder } from "../source-files.ts";

/** The `millrace` command in a process of its own, with the lines it prints. */
export class Command {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  #newLine = Promise.withResolvers<void>();
  /** Whether all that it has printed was read, which may be after its end. */
  #isOver = false;
  readonly #over = Promise.withResolvers<void>();

  constructor(words: string[], folder: string, environment: Record<string, string> = {}) {
    this.#child = spawn(process.execPath, [join(projectFolder, "bin/millrace.cjs"), ...words], {
      cwd: folder,
      env: { ...programEnvironment, HOME: folder, PORT: "0", ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream === null) throw new Error("The command's output is a pipe.");
      createInterface({ input: stream }).on("line", (line) => {
        this.lines.push(line);
        this.#newLine.resolve();
        this.#newLine = Promise.withResolvers<void>();
      });
    }
    this.#child.once("close", () => {
      this.#isOver = true;
      this.#over.resolve();
      this.#newLine.resolve();
    });
  }

  /** The next line that matches, from the `from`th on. Throws when the process ends without it. */
  async says(pattern: RegExp, from = 0): Promise<RegExpExecArray> {
    for (;;) {
      for (const line of this.lines.slice(from)) {
        const match = pattern.exec(line);
        if (match !== null) return match;
      }
      if (this.#isOver) throw new Error(`It ended without: ${pattern}\n${this.lines.join("\n")}`);
      await this.#newLine.promise;
    }
  }

  async url(from = 0): Promise<string> {
    return (await this.says(/"url":"([^"]+)".*"msg":"listening"/u, from))[1] ?? "";
  }

  async exit(): Promise<number | null> {
    await this.#over.promise;
    return this.#child.exitCode;
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.exit();
  }
}
