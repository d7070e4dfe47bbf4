import type { Toolkit } from "../../src/toolkits/toolkit.ts";

const words =
  /\b(?:tasks?|to-?dos?|schedul\w*|remind\w*|calendar|deadlines?|appointments?|planner)\b|任务|待办|日程|安排|提醒|截止/iu;

/** Whether a request is about tasks and dates. */
export const isWanted: NonNullable<Toolkit["isWanted"]> = ({ request }) => words.test(request);
