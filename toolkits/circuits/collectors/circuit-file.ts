import { fenced } from "../../../src/context/layers.ts";
import { netlistFacts, readNetlist } from "../netlist/netlist.ts";
import { readWorkspaceText } from "../../../src/context/workspace/workspace-text.ts";
import { priorities, type Collector } from "../../../src/context/collector.ts";
import { circuitEndings, type CircuitPlace } from "./circuit-place.ts";

/** The session's circuit with line numbers, and its components. */
export const circuitFile: Collector<CircuitPlace> = {
  name: "circuit_file",
  title: "Current circuit",
  priority: priorities.high,
  reserved: 0,
  async collect({ workspace, circuit_file: path }, signal) {
    if (path === null || !circuitEndings.test(path)) return null;
    const { text, modified } = await readWorkspaceText(workspace, path, signal);
    const facts = [`File: ${path}`, `Changed: ${new Date(modified).toISOString()}`, ...netlistFacts(readNetlist(text))];
    return `${facts.join("\n")}\n\n${fenced("spice", numbered(text))}`;
  },
};

function numbered(text: string): string {
  return text
    .replace(/\n$/u, "")
    .split(/\r?\n/u)
    .map((line, index) => `${index + 1}: ${line}`)
    .join("\n");
}
