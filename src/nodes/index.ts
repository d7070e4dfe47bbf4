import { action } from "./action.ts";
import { clarify } from "./clarify.ts";
import { compress } from "./compress.ts";
import { designCheckpoint } from "../../toolkits/circuits/nodes/design-checkpoint.ts";
import { freeWork } from "./free-work.ts";
import { intent } from "./intent.ts";
import { plan } from "./plan.ts";
import { reviewDesign } from "../../toolkits/circuits/nodes/review-design.ts";
import { undoDesign } from "../../toolkits/circuits/nodes/undo-design.ts";

/** The nodes of the workflow, by the names they have in the graph. */
export const nodes = {
  compress,
  intent,
  clarify,
  plan,
  free_work: freeWork,
  action,
  review_design: reviewDesign,
  design_checkpoint: designCheckpoint,
  undo_design: undoDesign,
};
