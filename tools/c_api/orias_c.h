/*
 * The C interface of orias: PTX text in; a cubin, a listing, diagnostics and statistics out.
 *
 * Link with -lorias. Functions are only added to this header, never changed or removed, as long as
 * ORIAS_C_API_VERSION stays the same. Nothing here has global state: threads may call it at the same time, each with
 * results of its own.
 *
 *     const char *options[] = {"-arch=sm_90", "--listing"};
 *     orias_result *result = NULL;
 *     if (orias_assemble(ptx, strlen(ptx), options, 2, &result) == ORIAS_OK) {
 *       size_t size;
 *       const void *cubin = orias_result_cubin(result, &size);
 *       ...
 *     } else {
 *       fputs(orias_result_text(result, ORIAS_TEXT_DIAGNOSTICS, NULL), stderr);
 *     }
 *     orias_result_free(result);
 */
#ifndef ORIAS_C_H
#define ORIAS_C_H

#include <stddef.h>

#define ORIAS_C_API_VERSION 1

#if defined(__GNUC__)
#define ORIAS_C_API __attribute__((visibility("default")))
#else
#define ORIAS_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** What became of a call. */
typedef enum orias_status {
  ORIAS_OK = 0,
  ORIAS_INPUT_ERRORS = 1,    /**< the PTX is wrong; the messages say where */
  ORIAS_OPTION_ERRORS = 2,   /**< the options make no sense */
  ORIAS_INTERNAL_FAULT = 3,  /**< a fault of orias */
  ORIAS_OUT_OF_MEMORY = 4,   /**< there is no result */
  ORIAS_INVALID_ARGUMENT = 5 /**< a null pointer or a number out of range; there is no result */
} orias_status;

/** The outcome of one assembly; owns all that the functions below return of it. */
typedef struct orias_result orias_result;

/** One PTX module. The bytes need no zero at their end. */
typedef struct orias_input {
  const char* name; /**< for messages; NULL: `<input>` */
  const char* text;
  size_t bytes;
} orias_input;

/** The texts of a result. Those that no option asked for are empty. */
typedef enum orias_text {
  ORIAS_TEXT_DIAGNOSTICS = 0, /**< errors, warnings and notes, with their lines */
  ORIAS_TEXT_LISTING = 1,     /**< `--listing`, `--listing-format=plain|annotated|json` */
  ORIAS_TEXT_REMARKS = 2,     /**< `--remarks=-`: JSON */
  ORIAS_TEXT_KERNEL_INFO = 3, /**< `--kernel-info`, `--kernel-info-format=text|json` */
  ORIAS_TEXT_PHASES = 4,      /**< `--dump-after=…`, `--print-changed`, `--time-phases`, `--why=…` */
  ORIAS_TEXT_USAGE = 5,       /**< what `-v` prints, as ptxas does */
  /** JSON: {"functions": [{"name", "kernel", "registers", "uniform_registers", "barriers", "instructions",
   *  "shared_bytes", "constant_bytes", "frame_bytes", "stack_bytes", "unknown_stack", "frame": [{"name", "offset",
   *  "size", "align", "dead", "spill_slot", "category"}], "spill_store_bytes", "spill_load_bytes", "rematerialised"}],
   *  "global_bytes", "constant_bytes", "address_bytes"}; bytes are per thread (frame, stack, spills), per CTA (shared)
   *  or of the module. */
  ORIAS_TEXT_STATISTICS = 6
} orias_text;

typedef enum orias_severity { ORIAS_NOTE = 0, ORIAS_WARNING = 1, ORIAS_ERROR = 2 } orias_severity;

/** An error, warning or note. The strings live as long as the result. */
typedef struct orias_message {
  orias_severity severity;
  const char* input; /**< the name of the input; empty if there is none */
  unsigned line;     /**< from 1; 0: no place */
  unsigned column;   /**< the same */
  const char* text;
  const char* hint; /**< what would be right; may be empty */
} orias_message;

/** `MAJOR.MINOR.PATCH` of the library. */
ORIAS_C_API const char* orias_version(void);

/** ORIAS_C_API_VERSION of the library that is loaded. */
ORIAS_C_API unsigned orias_c_api_version(void);

/** The PTX ISA versions that are accepted, from the oldest, as `MAJOR.MINOR`. */
ORIAS_C_API const char* const* orias_ptx_versions(size_t* count);

/**
 * Assembles one PTX module.
 *
 * `options` are those of the program `orias` (`orias --help`, which has those of ptxas), one word each: "-arch=sm_90",
 * "--maxrregcount=64", "--knob=NAME=VALUE". Options that name files to write, and options that only print lists, are
 * ORIAS_OPTION_ERRORS; texts are in the result. Environment variables are not read.
 *
 * `*result` is set whatever the status, but for ORIAS_OUT_OF_MEMORY and ORIAS_INVALID_ARGUMENT, where it is NULL.
 */
ORIAS_C_API orias_status orias_assemble(const char* ptx, size_t bytes, const char* const* options, size_t option_count,
                                        orias_result** result);

/** Assembles several modules into one cubin; the rest as orias_assemble. */
ORIAS_C_API orias_status orias_assemble_inputs(const orias_input* inputs, size_t input_count,
                                               const char* const* options, size_t option_count, orias_result** result);

/** Frees a result, and what was returned of it. NULL does nothing. */
ORIAS_C_API void orias_result_free(orias_result* result);

/** The cubin and its size in bytes; NULL and 0 if there is none. */
ORIAS_C_API const void* orias_result_cubin(const orias_result* result, size_t* bytes);

/** A text of the result, with a zero at its end, and its length if `bytes` is not NULL. NULL: there is no such text. */
ORIAS_C_API const char* orias_result_text(const orias_result* result, orias_text which, size_t* bytes);

/** The number of messages. */
ORIAS_C_API size_t orias_result_message_count(const orias_result* result);

/** The message at `index`; ORIAS_INVALID_ARGUMENT if there is none. */
ORIAS_C_API orias_status orias_result_message(const orias_result* result, size_t index, orias_message* message);

#ifdef __cplusplus
}
#endif

#endif
