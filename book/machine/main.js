// Every machine on the page; and the engine by itself, for the browser's console and for tests.
import { backward, forward, gradients } from "./engine.js";
import { Machine } from "./machine.js";
import { parse, ParseError } from "./parse.js";
import { ask, choices, judge } from "./questions.js";
import { tell } from "./words.js";

export { ask, backward, choices, forward, gradients, judge, parse, ParseError, tell };

for (const root of document.querySelectorAll(".bp-machine")) new Machine(root);
