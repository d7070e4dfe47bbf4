/** The file that belongs to a circuit by its name: `amp_sim.json` to `amp.cir`. */
export function namedAfter(circuit: string, ending: "_sim.json" | "_goals.json"): string {
  return circuit.replace(/\.[^./]*$/u, "") + ending;
}
