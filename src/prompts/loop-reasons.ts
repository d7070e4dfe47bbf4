/** The model's explanation of each kind of loop: a reason, and what to do instead. */
export interface LoopReason {
  reason: string;
  suggestions: string[];
}

/** The same call has failed again and again. */
export function sameFailureReason({
  tool,
  path,
  times,
}: {
  tool: string;
  path: string | null;
  times: number;
}): LoopReason {
  const about = path === null ? tool : `${tool} on ${path}`;
  return {
    reason: `${about} has failed ${times} times with the same parameters. The same call will not be run again; try another way.`,
    suggestions:
      path === null
        ? ["Read the error and change the parameters.", "Use another tool.", "If it cannot be done, say so."]
        : [
            `Read the current content of ${path} first.`,
            "If it is a file, rewrite it as a whole instead of changing a part.",
            "Check that the path is right: list its folder.",
          ],
  };
}

/** The same call has brought the same result again and again. */
export function repeatedCallReason({ tool, times }: { tool: string; times: number }): LoopReason {
  return {
    reason: `${tool} was called ${times} times with the same parameters and the same result. Calling it again brings nothing new.`,
    suggestions: ["Use the result that is already there.", "Take the next step, or answer from what is known."],
  };
}

/** A call that waits for a change has seen none for long. */
export function pollingReason({ tool, times }: { tool: string; times: number }): LoopReason {
  return {
    reason: `${tool} has given the same answer ${times} times in a row.`,
    suggestions: ["Tell the user what is still running and how to look at it later.", "Do other work meanwhile."],
  };
}

/** Several replies called only unknown tools. */
export function inventedCallsReason({ times }: { times: number }): LoopReason {
  return {
    reason: `The last ${times} replies asked only for tools that do not exist. Another name will not help.`,
    suggestions: [
      "Answer from what is known and say what could not be done.",
      "Call only tools that are offered to you.",
    ],
  };
}

/** Every call of several replies was blocked. */
export function blockedRoundsReason({ rounds }: { rounds: number }): LoopReason {
  return {
    reason: `Every call of the last ${rounds} replies was blocked.`,
    suggestions: ["Answer from what is known and say what could not be done."],
  };
}

/** Calls that differ only in spelling have brought the same result. */
export function similarCallReason({ tool, times }: { tool: string; times: number }): LoopReason {
  return {
    reason: `${times} nearly identical calls of ${tool} had the same result. Another spelling of the same question does not help.`,
    suggestions: ["Ask something really different, or use another tool.", "Answer from what is known."],
  };
}

/** The same calls go round. */
export function cycleReason({ tools, times }: { tools: string[]; times: number }): LoopReason {
  return {
    reason: `The same calls go round in a circle: ${tools.join(", ")}; ${times} times by now, with the same results.`,
    suggestions: ["Do not begin the row again.", "Change what the results depend on, or answer from what is known."],
  };
}

/** The replies say the same. */
export function repeatedTextReason({ times }: { times: number }): LoopReason {
  return {
    reason: `The last ${times} replies say the same, and nothing new was found between them.`,
    suggestions: ["Do not announce it again: do it, or say what stands in the way.", "Answer from what is known."],
  };
}

/** The metrics do not get better. */
export function stagnationReason({ sets, current }: { sets: number; current: Record<string, number> }): LoopReason {
  const values = Object.entries(current).map(([name, value]) => `${name} ${value}`);
  return {
    reason: `No key metric has got better over the last ${sets} results. Current metrics: ${values.join(", ")}.`,
    suggestions: [
      "Consider another direction.",
      "Check whether the goal is nearly reached already.",
      "Change other parameters than so far.",
    ],
  };
}

/** Different calls have brought the same result. */
export function sameResultsReason({ tool, times }: { tool: string; times: number }): LoopReason {
  return {
    reason: `${times} different calls of ${tool} in a row had the same result.`,
    suggestions: [
      "Find out why before trying further values.",
      "Use another tool, or tell the user what was not found.",
    ],
  };
}

/** Something is changed to and fro. */
export function flappingReason({ what, times }: { what: string; times: number }): LoopReason {
  return {
    reason: `${what} goes to and fro between the same states: ${times} of the changes had been made and undone before.`,
    suggestions: ["Decide which state is right and leave it so.", "If it cannot be decided, ask the user."],
  };
}
