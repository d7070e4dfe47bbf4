import type { Toolkit } from "../../src/toolkits/toolkit.ts";
import { circuitWorkflow } from "./workflow.ts";

const netlists = /\.(?:cir|ckt|sp|spice|net|asc)$/iu;

const words =
  /\b(?:spice|ngspice|netlists?|circuits?|simulat\w+|op-?amps?|resistors?|capacitors?|transistors?|filters?)\b|\.(?:cir|ckt|sp)\b|电路|仿真|网表|模拟|滤波|放大器|电阻|电容/iu;

/** Whether the workspace has a netlist, the request is about circuits, or the session works on one. */
export const isWanted: NonNullable<Toolkit["isWanted"]> = ({ request, entries, state }) =>
  entries.some((name) => netlists.test(name)) ||
  words.test(request) ||
  Object.values(circuitWorkflow.facts?.(state) ?? {}).some((fact) => fact !== null);
