import { z } from "zod";
import type { Toolkit } from "../../src/toolkits/toolkit.ts";
import { memoryFields } from "./memories/session-memories.ts";

/** Words for requests to remember something, and for lasting facts about the user. */
const words =
  /\b(?:remember|memori[sz]e|memor(?:y|ies)|forget|from now on|in (?:the )?future|next time|keep in mind|call me|my name is|i(?: always| usually| generally)? prefer|i (?:live|work) (?:in|at|for|as)|my (?:favou?rite|preferred|preference)|(?:know|said|told you) about me)\b|记住|记得|记下|别忘|不要忘|忘记|忘掉|忘了|记忆|以后|今后|从现在起|下次|我叫|我的名字|叫我|我喜欢|我偏好|我更喜欢|我习惯|我住在|我在.{1,12}工作|知道我|了解我/iu;

const State = z.object(memoryFields);

/** Whether the request is about remembering, or the user has memories. */
export const isWanted: NonNullable<Toolkit["isWanted"]> = ({ request, state }) =>
  words.test(request) || (State.parse(state).session_memories ?? "") !== "";
