/** `millrace/agent`: the assistant's workflow, to be served beside graphs of your own. */
export { workflow as agent } from "../src/graph/workflow.ts";
