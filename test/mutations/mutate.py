"""Makes mutated PTX: a few lines or tokens of a valid program are removed, doubled, exchanged or inserted.

The result follows from the seeds, the seed number and the index alone, so that a case can be made again.
"""
import random
import re

TOKEN = re.compile(r'"[^"\n]*"|0[fFdD][0-9a-fA-F]+|0[xX][0-9a-fA-F]+U?|[%$]?[\w$]+(?:::[\w]+)*|\.[A-Za-z_]\w*(?:::\w+)*|//[^\n]*|\s+|.', re.DOTALL)
NUMBERS = ["0", "1", "-1", "31", "32", "64", "255", "65536", "0x7fffffff", "0xffffffff", "-2147483648", "4294967296", "0f3F800000", "1.5"]
CLASSES = (re.compile(r"%\w+$"), re.compile(r"\.[a-z]+\d+(x\d)?$"), re.compile(r"\.\w"), re.compile(r"[\d]"), re.compile(r"\w"))


def tokens_of(text):
    return TOKEN.findall(text)


def kind(token):
    """Tokens of one kind take each other's place: registers, types, modifiers, numbers, names; None for white space."""
    if token.isspace() or token.startswith("//"):
        return None
    return next((i for i, pattern in enumerate(CLASSES) if pattern.match(token)), len(CLASSES))


class Mutator:
    """Mutations of a list of seed programs (name, text)."""

    def __init__(self, seeds, number=0):
        self.seeds, self.number = seeds, number
        self.lines = [[line for line in text.split("\n") if line.strip()] for _, text in seeds]
        pool = {}
        for _, text in seeds:
            for token in tokens_of(text):
                if (which := kind(token)) is not None:
                    pool.setdefault(which, set()).add(token)
        pool.setdefault(3, set()).update(NUMBERS)
        self.pool = {which: sorted(members) for which, members in pool.items()}

    def make(self, index):
        """The name of the seed, what was done to it, and the mutated text."""
        chance = random.Random(f"{self.number}:{index}")
        which = chance.randrange(len(self.seeds))
        lines, done = list(self.lines[which]), []
        for _ in range(chance.choice((1, 1, 1, 1, 2, 3))):
            done.append(chance.choice(MUTATIONS)(self, lines, chance))
        return self.seeds[which][0], [what for what in done if what], "\n".join(lines) + "\n"

    def remove_line(self, lines, chance):
        if lines:
            return "remove " + lines.pop(chance.randrange(len(lines))).strip()

    def double_line(self, lines, chance):
        if lines:
            at = chance.randrange(len(lines))
            lines.insert(at, lines[at])
            return "double " + lines[at].strip()

    def exchange_lines(self, lines, chance):
        if lines:
            at, other = chance.randrange(len(lines)), chance.randrange(len(lines))
            if chance.random() < 0.7:
                other = min(at + chance.randrange(1, 6), len(lines) - 1)
            lines[at], lines[other] = lines[other], lines[at]
            return f"exchange {lines[other].strip()} and {lines[at].strip()}"

    def insert_line(self, lines, chance):
        if lines:
            line = chance.choice(self.lines[chance.randrange(len(self.lines))]) if chance.random() < 0.3 else chance.choice(lines)
            lines.insert(chance.randrange(len(lines)), line)
            return "insert line " + line.strip()

    def within_line(self, lines, chance, change):
        """Applies `change` to the tokens of a line that has some."""
        for _ in range(20):
            at = chance.randrange(len(lines)) if lines else 0
            tokens = tokens_of(lines[at]) if lines else []
            places = [i for i, token in enumerate(tokens) if kind(token) is not None]
            if len(places) >= 3 and (what := change(tokens, places)):
                lines[at] = "".join(tokens)
                return f"{what}: {lines[at].strip()}"

    def exchange_operands(self, lines, chance):
        def change(tokens, places):
            operands = [i for i in places if kind(tokens[i]) in (0, 3, 4)][1:]
            if len(operands) < 2:
                return None
            a, b = chance.sample(operands, 2)
            tokens[a], tokens[b] = tokens[b], tokens[a]
            return "exchange operands"

        return self.within_line(lines, chance, change)

    def exchange_modifiers(self, lines, chance):
        def change(tokens, places):
            modifiers = [i for i in places if kind(tokens[i]) in (1, 2)]
            if len(modifiers) < 2:
                return None
            a, b = chance.sample(modifiers, 2)
            tokens[a], tokens[b] = tokens[b], tokens[a]
            return "exchange modifiers"

        return self.within_line(lines, chance, change)

    def insert_token(self, lines, chance):
        def change(tokens, places):
            token = chance.choice(self.pool[chance.choice(sorted(self.pool))])
            tokens.insert(chance.choice(places), token)
            return f"insert {token}"

        return self.within_line(lines, chance, change)

    def remove_token(self, lines, chance):
        def change(tokens, places):
            return "remove " + tokens.pop(chance.choice(places))

        return self.within_line(lines, chance, change)

    def replace_token(self, lines, chance):
        def change(tokens, places):
            at = chance.choice(places)
            old, tokens[at] = tokens[at], chance.choice(self.pool[kind(tokens[at])])
            return f"replace {old}"

        return self.within_line(lines, chance, change)

    def replace_operand(self, lines, chance):
        """An operand by one of this program, or by a number."""
        names = sorted({token for line in lines for token in tokens_of(line) if kind(token) == 0})

        def change(tokens, places):
            operands = [i for i in places if kind(tokens[i]) in (0, 3)]
            if not operands or not names:
                return None
            at = chance.choice(operands)
            old, tokens[at] = tokens[at], chance.choice(names if chance.random() < 0.7 else NUMBERS)
            return f"replace operand {old}"

        return self.within_line(lines, chance, change)


MUTATIONS = (Mutator.remove_line, Mutator.double_line, Mutator.exchange_lines, Mutator.insert_line, Mutator.exchange_operands,
             Mutator.exchange_modifiers, Mutator.insert_token, Mutator.remove_token, Mutator.replace_token, Mutator.replace_operand)
