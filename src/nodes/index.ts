import { action } from "./action.ts";
import { clarify } from "./clarify.ts";
import { compress } from "./compress.ts";
import { freeWork } from "./free-work.ts";
import { intent } from "./intent.ts";
import { plan } from "./plan.ts";

/** The nodes of every workflow, by the names they have in the graph. */
export const nodes = {
  compress,
  intent,
  clarify,
  plan,
  free_work: freeWork,
  action,
};
