import { END } from "@langchain/langgraph";
import { endsWithRequest } from "../../src/nodes/turn/request-words.ts";
import type { ToolkitWorkflow } from "../../src/toolkits/toolkit.ts";
import { designCheckpoint } from "./nodes/design-checkpoint.ts";
import { chosenAtCheckpoint, reviewDue } from "./nodes/design-review.ts";
import { actionAtCheckpoint, circuitActions } from "./nodes/preset-task.ts";
import { reviewDesign } from "./nodes/review-design.ts";
import { undoDesign } from "./nodes/undo-design.ts";
import { circuitContext, circuitFacts, circuitFields, circuitState, circuitVariables } from "./state.ts";

/** The toolkit's part of the workflow: a design iteration is reviewed and waits for a decision. */
export const circuitWorkflow: ToolkitWorkflow = {
  state: circuitFields,
  context: circuitContext,
  nodes: {
    review_design: { run: reviewDesign, next: "design_checkpoint" },
    design_checkpoint: {
      run: designCheckpoint,
      next: {
        choose: ({ messages }) => {
          if (!endsWithRequest(messages)) return END;
          return chosenAtCheckpoint(messages) === "undo" ? "undo_design" : "intent";
        },
        targets: ["intent", "undo_design", END],
      },
    },
    undo_design: { run: undoDesign, next: END },
  },
  afterWork: { node: "review_design", isDue: reviewDue },
  actions: circuitActions,
  chosenAction: actionAtCheckpoint,
  facts: circuitFacts,
  identityVariables: circuitVariables,
  files: (state) => {
    const { circuit_file_path, design_goals_path } = circuitState(state);
    return [circuit_file_path, design_goals_path];
  },
};
