import { appendFileSync, readFileSync } from "node:fs";

/** The outcome of one call by the tools' own record, written outside the server and its ledger. */
export interface EffectCount {
  begun: number;
  done: number;
}

/** Appends a line to the file that `EFFECTS_FILE` names; when this returns the system has it, also if the process is killed. */
export function noteEffect(what: "begin" | "done", name: string): void {
  appendFileSync(process.env["EFFECTS_FILE"] ?? "", `${what} ${name}\n`);
}

/** Reads the record: by name, how often it was begun and how often it was done. */
export function readEffects(file: string): Map<string, EffectCount> {
  const counts = new Map<string, EffectCount>();
  for (const line of readFileSync(file, "utf8").split("\n")) {
    const [what, ...rest] = line.split(" ");
    const name = rest.join(" ");
    const count = counts.get(name) ?? { begun: 0, done: 0 };
    if (what === "begin") count.begun += 1;
    if (what === "done") count.done += 1;
    if (name !== "") counts.set(name, count);
  }
  return counts;
}

/** The effects of an item's calls in the order in which they began, each as the tool's name and the call's item. */
export function effectsOf(file: string, item: string): string[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line) => {
      const [what, tool, name] = line.split(" ");
      return what === "begin" && name?.split("-")[0] === item ? [`${tool} ${name}`] : [];
    });
}
