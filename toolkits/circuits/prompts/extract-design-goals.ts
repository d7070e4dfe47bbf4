import { jsonFormat } from "../../../src/prompts/output-formats.ts";
import { defineTemplate } from "../../../src/prompts/template.ts";

/** PROMPT_EXTRACT_DESIGN_GOALS: a circuit's goals from the user's request. */
export const extractDesignGoals = defineTemplate({
  name: "extract_design_goals",
  title: { en: "Design goals", zh: "提取设计目标" },
  description: "Finds the measurable goals of a circuit in the user's words.",
  required: ["user_requirement"],
  optional: ["circuit_type", "context", "goals_path"],
  format: jsonFormat,
  content: [
    "Find in the user's request what the circuit must reach. A goal is a quantity with a number and a unit.",
    "Request: {user_requirement}",
    "Kind of circuit: {circuit_type}",
    "Known already: {context}",
    "Take numbers from the request as they are; do not invent any. Where the request asks for a quality without a number, such as",
    'low noise, list it under "preferences". List what you would have to ask under "open_questions".',
    "Write the object with rewrite_file to: {goals_path}",
    'The object: {"goals": [{"name": "gain", "operator": ">=", "value": 20, "unit": "dB"}], "preferences": [], "open_questions": []}',
  ].join("\n"),
});
