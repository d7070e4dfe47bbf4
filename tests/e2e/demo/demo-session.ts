import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Language } from "@millrace/engine/language";
import { ServerProcess } from "../../support/processes/server-process.ts";
import { projectFolder } from "../../support/source-files.ts";

/** Something to be shown: files, and what a server does with them. Every step checks what it shows, and throws when it does not happen. */
export interface Demo {
  /** Fills the workspace, an empty folder. */
  prepare: (workspace: string, language: Language) => void;
  /** Variables of the server, beside its own. */
  settings?: Record<string, string>;
  perform: (server: ServerProcess, workspace: string, language: Language) => Promise<void>;
}

/** Shows a demo on a real server in a process of its own, which is gone afterwards, with its files. A failure is exit code 1. */
export async function showDemo({ prepare, settings = {}, perform }: Demo, language: Language = "en"): Promise<void> {
  const inChinese = language === "zh";
  const folder = mkdtempSync(join(tmpdir(), "millrace-demo-"));
  const workspace = join(folder, "workspace");
  mkdirSync(workspace);
  const server = new ServerProcess(folder, workspace);
  try {
    prepare(workspace, language);
    console.log(`${inChinese ? "示例工作区：" : "Sample workspace: "}${workspace}`);
    server.configure(settings);
    await server.start();
    console.log(
      inChinese ? `服务器：${server.url}，进程 ${server.pid}` : `Server: ${server.url}, process ${server.pid}`,
    );
    await perform(server, workspace, language);
    console.log(inChinese ? "\n演示的各个步骤均已完成。" : "\nEverything the demo promises happened.");
  } catch (error) {
    console.error(`\nThe demo failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
    console.error(readFileSync(server.logFile, "utf8").split("\n").slice(-20).join("\n"));
    process.exitCode = 1;
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const samples = join(projectFolder, "samples");

/** Fills a workspace with the samples of a kind; in Chinese, those of samples/zh stand in for others of the same name. */
export function copySamples(kind: string, workspace: string, language: Language): void {
  cpSync(join(samples, kind), workspace, { recursive: true });
  if (language === "zh") cpSync(join(samples, "zh", kind), workspace, { recursive: true });
}

/** What such a sample holds. */
export function sample(kind: string, name: string, language: Language): Buffer {
  const inChinese = join(samples, "zh", kind, name);
  return readFileSync(language === "zh" && existsSync(inChinese) ? inChinese : join(samples, kind, name));
}
