// Compiled once per instruction set. KERNLINE_TARGET is the namespace.
#include "views/loops.hpp"

#include "loops/budgeted.hpp"
#include "loops/certificate.hpp"
#include "loops/class_products.hpp"
#include "loops/contributions.hpp"
#include "loops/decision.hpp"
#include "loops/dual_cd.hpp"
#include "loops/gram.hpp"
#include "loops/joint_cd.hpp"
#include "loops/products.hpp"

namespace kernline::KERNLINE_TARGET {

#define KERNLINE_STRING(name) #name
#define KERNLINE_NAME(name) KERNLINE_STRING(name)

const Loops loops = {KERNLINE_NAME(KERNLINE_TARGET),
                     sweep,
                     rebuild,
                     follow,
                     evaluate,
                     grow,
                     set_beta,
                     balance,
                     certify,
                     best_intercept,
                     joint_sweep,
                     joint_rebuild,
                     joint_evaluate,
                     joint_grow,
                     decision,
                     contributions,
                     read_members,
                     add_members,
                     add_image,
                     add_products,
                     add_classes,
                     read_pairs,
                     add_pairs,
                     add_cells,
                     gram_dense,
                     gram_sparse,
                     recall,
                     sgd_pass,
                     budgeted_decision};

}  // namespace kernline::KERNLINE_TARGET
