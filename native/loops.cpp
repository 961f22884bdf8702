// Compiled once per instruction set. KERNLINE_TARGET is the namespace.
#include "loops.hpp"

#include "budgeted.hpp"
#include "decision.hpp"
#include "dual_cd.hpp"
#include "gram.hpp"
#include "products.hpp"

namespace kernline::KERNLINE_TARGET {

#define KERNLINE_STRING(name) #name
#define KERNLINE_NAME(name) KERNLINE_STRING(name)

const Loops loops = {KERNLINE_NAME(KERNLINE_TARGET), sweep, rebuild, evaluate, grow, set_beta, decision,
                     read_members, add_members, add_image, gram_dense, gram_sparse, recall, sgd_pass, budgeted_decision};

}  // namespace kernline::KERNLINE_TARGET
