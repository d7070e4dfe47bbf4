import { commonDate } from "../../../concurrency/common-time.ts";
import type { Hint, Hints } from "../../cluster.ts";

/**
 * Lets clocks here know of what is due, and those of other servers. `listen` tells what was made here; gives how clocks are
 * told. Another server that has been told of a sooner date looks by itself for the later ones.
 */
export function shareDates(
  hints: Hints,
  what: Extract<Hint, { type: "due" }>["what"],
  listen: (tell: (date: string) => void) => void,
): (tell: (date: string) => void) => void {
  const clocks: ((date: string) => void)[] = [];
  let told: string | undefined;
  const tellClocks = (date: string): void => {
    for (const tell of clocks) tell(date);
  };
  listen((date) => {
    tellClocks(date);
    if (told !== undefined && told <= date && told > commonDate()) return;
    told = date;
    hints.hint("all", { type: "due", what, date });
  });
  hints.onHint((hint) => {
    if (hint.type === "due" && hint.what === what) tellClocks(hint.date);
  });
  return (tell) => void clocks.push(tell);
}
